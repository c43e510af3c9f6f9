"""`POST /v1/chat/completions`."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from relay_project.api.authentication import AwaitedTokenAuthentication, MayChat, authenticated
from relay_project.api.base import AsyncAPIView
from relay_project.api.queue_events import answer_with_queue_events
from relay_project.calls import Call, Reply
from relay_project.rendering import Hearer, language_of, problem_response
from relay_project.wiring import get_relay

_READ_HEADERS = {
    "x-relay-class": "HTTP_X_RELAY_CLASS",
    "x-relay-max-wait-ms": "HTTP_X_RELAY_MAX_WAIT_MS",
    "user-agent": "HTTP_USER_AGENT",
}


class RelayedResponse(HttpResponseBase):
    """Bytes as they come from the upstream. Its iterator must be exhausted or closed: it holds a lane."""

    streaming = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(status=reply.status, headers=dict(reply.headers))
        self._stream = reply.stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream


class GenerationView(AsyncAPIView):
    """What the generation endpoints share: personal tokens, a request id, errors in the caller's language."""

    authentication_classes = (AwaitedTokenAuthentication,)
    permission_classes = (MayChat,)

    def hearer(self, request: Request) -> Hearer:
        language = language_of(request.META.get("HTTP_ACCEPT_LANGUAGE", ""))
        return Hearer("openai", language, f"req_{secrets.token_hex(12)}")

    async def dispatch_async(self, http_request: object, *args: object, **kwargs: object) -> HttpResponseBase:
        self._hearer = self.hearer(http_request)  # type: ignore[arg-type]  # META is all it reads
        return await super().dispatch_async(http_request, *args, **kwargs)  # type: ignore[arg-type]

    def answer_error(self, error: Exception) -> HttpResponseBase:
        return problem_response(error, self._hearer)


class ChatCompletions(GenerationView):
    async def post(self, request: Request) -> HttpResponseBase:
        meta = request.META
        call = Call(
            caller=authenticated(request),
            hearer=self._hearer,
            body=request._request.body,
            headers={name: meta[key] for name, key in _READ_HEADERS.items() if key in meta},
        )
        relay = get_relay()
        if meta.get("HTTP_X_RELAY_QUEUE_EVENTS") == "1" and call.wants_stream():
            return RelayedResponse(await answer_with_queue_events(relay.use_case.answer, call, relay.clock))
        return RelayedResponse(await relay.use_case.answer(call))
