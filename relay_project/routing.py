"""WebSocket addresses. Each consumer checks the Origin and who is there by itself: no middleware is needed
around.
"""

from __future__ import annotations

from django.urls import path

from relay_project.api.consumers import QueueConsumer

websocket_urlpatterns = [path("ws/queue", QueueConsumer.as_asgi())]
