"""`POST /v1/chat/completions`."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Any, cast

from django.http.response import HttpResponse, HttpResponseBase
from rest_framework import exceptions
from rest_framework.request import Request

from relay_project.api.authentication import AwaitedTokenAuthentication, MayChat, authenticated
from relay_project.api.base import AsyncAPIView
from relay_project.api.queue_events import answer_with_queue_events
from relay_project.api.schema import describe_chat
from relay_project.calls import Call, Reply
from relay_project.errors import NotAllowed
from relay_project.rendering import Hearer, language_of, problem_response
from relay_project.wiring import get_relay

_READ_HEADERS = {
    "x-relay-class": "HTTP_X_RELAY_CLASS",
    "x-relay-max-wait-ms": "HTTP_X_RELAY_MAX_WAIT_MS",
    "content-encoding": "HTTP_CONTENT_ENCODING",
    "user-agent": "HTTP_USER_AGENT",
}
# Refusals of a known caller before the use case has taken the call.
_AT_THE_DOOR = (NotAllowed, exceptions.PermissionDenied, exceptions.MethodNotAllowed, exceptions.Throttled)


class RelayedResponse(HttpResponseBase):
    """Bytes as they come from the upstream. Its iterator must be exhausted or closed: it holds a lane."""

    streaming = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(status=reply.status, headers=dict(reply.headers))
        self._stream = reply.stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream


async def relayed(reply: Reply) -> HttpResponseBase:
    """The response for a reply; what the reply holds is given back if none can be made of it."""
    try:
        if reply.whole is not None:
            return HttpResponse(reply.whole, status=reply.status, headers=dict(reply.headers))
        return RelayedResponse(reply)
    except BaseException:
        await cast(Any, reply.stream).aclose()
        raise


class GenerationView(AsyncAPIView):
    """What the generation endpoints share: personal tokens, a request id, errors in the caller's language."""

    _taken = False  # by the use case, which leaves the usage row of whatever comes of it
    authentication_classes = (AwaitedTokenAuthentication,)
    permission_classes = (MayChat,)

    def hearer(self, request: Request) -> Hearer:
        language = language_of(request.META.get("HTTP_ACCEPT_LANGUAGE", ""))
        return Hearer("openai", language, f"req_{secrets.token_hex(12)}")

    async def dispatch_async(self, http_request: object, *args: object, **kwargs: object) -> HttpResponseBase:
        self._hearer = self.hearer(http_request)  # type: ignore[arg-type]  # META is all it reads
        return await super().dispatch_async(http_request, *args, **kwargs)  # type: ignore[arg-type]

    def call(self, request: Request) -> Call:
        return Call(
            caller=authenticated(request),
            hearer=self._hearer,
            body=request._request.body,
            headers={name: request.META[key] for name, key in _READ_HEADERS.items() if key in request.META},
        )

    def answer_error(self, error: Exception) -> HttpResponseBase:
        if isinstance(error, _AT_THE_DOOR) and not self._taken:
            get_relay().use_case.refuse(self.call(self.request), error)
        return problem_response(error, self._hearer)


class ChatCompletions(GenerationView):
    @describe_chat
    async def post(self, request: Request) -> HttpResponseBase:
        call, relay = self.call(request), get_relay()
        self._taken = True
        if request.META.get("HTTP_X_RELAY_QUEUE_EVENTS") == "1" and call.wants_stream():
            return await relayed(await answer_with_queue_events(relay.use_case.answer, call, relay.clock))
        return await relayed(await relay.use_case.answer(call))
