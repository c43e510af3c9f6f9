"""URLs of the generation endpoints: served by the slim handler, and part of the published description."""

from django.urls import path

from relay_project.api.chat import ChatCompletions

urlpatterns = [path("v1/chat/completions", ChatCompletions.as_view(), name="chat-completions")]

GENERATION_PATHS = frozenset({"/v1/chat/completions"})
