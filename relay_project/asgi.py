"""The ASGI application: generation URLs to the slim handler, WebSockets to Channels, all else to stock Django."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relay_project.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

from channels.routing import URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from relay_project.api.slim import HeldBytes, Message, Receive, Send, SlimHandler  # noqa: E402
from relay_project.api.urls import GENERATION_PATHS  # noqa: E402
from relay_project.routing import websocket_urlpatterns  # noqa: E402
from relay_project.wiring import get_relay, relay_state, start_relay, stop_relay  # noqa: E402


class RelayApplication:
    """Sends each scope where it belongs."""

    def __init__(self) -> None:
        self._generation = SlimHandler(settings.ENV.max_body_bytes, HeldBytes(settings.ENV.max_held_bytes))
        self._websockets = URLRouter(websocket_urlpatterns)  # each consumer checks Origin and caller by itself

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await self._websockets(scope, receive, send)
        elif scope["path"] in GENERATION_PATHS:
            await self._generation(scope, receive, send)
        else:
            await django_application(dict(scope), receive, send)

    async def drain(self) -> None:
        """Called by the server's launcher when it is told to go down; returns when nothing is running any more."""
        if relay_state() == "ready":
            await get_relay().drain()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        try:
            await start_relay()
        except Exception as error:
            # A failed start stops the server: half a relay must not look like one.
            await send({"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error}"})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()  # lifespan.shutdown
        await stop_relay()
        await send({"type": "lifespan.shutdown.complete"})


application = RelayApplication()
