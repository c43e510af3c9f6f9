"""The ASGI handler of the generation endpoints: Django's, less what a long stream must not carry.

Django's stock handler pins a thread and, after an ORM call, a database connection to every request in flight, spools
bodies to disk and walks the middleware chain (about 1.5 ms of CPU). Here a request is a body in memory, a URL match
and an awaited view. While the view works, the handler listens for the client's leaving and cancels the work at once.

Trap: both servers deliver `http.disconnect` right behind the last byte. A watcher that is still armed then would
cancel the bookkeeping of every *success*, so it is disarmed before the last body message leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextlib import aclosing
from io import BytesIO
from typing import Any, cast

from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import Http404
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch

from relay_project.errors import BodyTooLarge, TooMuchHeld
from relay_project.rendering import problem_response

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ClientGone(Exception):
    """The client left before its request was complete."""


class HeldBytes:
    """Request bodies in memory, counted over the process; a bound like the lanes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0

    def take(self, count: int) -> None:
        if self.held + count > self.limit:
            raise TooMuchHeld
        self.held += count

    def give_back(self, count: int) -> None:
        self.held -= count


class SlimHandler(ASGIHandler):
    """Serves the generation URLs (see `relay_project.api.urls`)."""

    def __init__(self, max_body_bytes: int, held: HeldBytes) -> None:
        # Not super().__init__(): it would load the middleware chain.
        self.max_body_bytes = max_body_bytes
        self.held = held
        self._matches: dict[str, ResolverMatch] = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = bytearray()
        try:
            await self._answer(scope, receive, send, body)
        except ClientGone:
            return
        finally:
            self.held.give_back(len(body))

    async def _answer(self, scope: Message, receive: Receive, send: Send, body: bytearray) -> None:
        try:
            await self._read_body(receive, body)
        except (BodyTooLarge, TooMuchHeld) as problem:
            # The rest of the upload is the server's to drop: closing under it would cost the client our answer.
            await _send_whole(problem_response(problem), send)
            return
        request = ASGIRequest(scope, BytesIO())
        request._body = bytes(body)
        watch = _DisconnectWatch(receive)
        try:
            response = await self._response(request)
            await _send_response(response, send, watch)
        except asyncio.CancelledError:
            if not watch.fired:
                raise  # the server's own doing
            watch.forgive()
        finally:
            watch.disarm()

    async def _read_body(self, receive: Receive, body: bytearray) -> None:
        """Fill `body` in place, so that what is held is counted even when the read is cut short."""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            part = message.get("body", b"")
            if len(body) + len(part) > self.max_body_bytes:
                raise BodyTooLarge(self.max_body_bytes)
            self.held.take(len(part))
            body += part
            if not message.get("more_body"):
                return

    async def _response(self, request: ASGIRequest) -> HttpResponseBase:
        try:
            match = self._matches.get(request.path_info) or self.resolve_request(request)
        except Http404 as missing:
            return problem_response(missing)
        request.resolver_match = match
        if not (match.args or match.kwargs):
            self._matches[request.path_info] = match  # a fixed path: to walk the whole URL conf once is enough
        response: HttpResponseBase = await match.func(request, *match.args, **match.kwargs)
        return response


class _DisconnectWatch:
    """Cancels the task that made it when the client leaves. One per request."""

    def __init__(self, receive: Receive) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is handled inside a task")
        self._task = task
        self._receive = receive
        self.fired = False
        self._listening: asyncio.Task[None] | None = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._listening is not None:
            self.fired = True
            self._task.cancel()

    def disarm(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.cancel()

    def forgive(self) -> None:
        """The cancellation was ours and has done its work: the server must not see it."""
        self._task.uncancel()


async def _send_response(response: HttpResponseBase, send: Send, watch: _DisconnectWatch) -> None:
    if not response.streaming:
        watch.disarm()
        await _send_whole(response, send)
        return
    stream: Any = aiter(cast(AsyncIterable[bytes], response))
    async with aclosing(stream) as parts:  # from the first message on: what it holds is ours to give back
        await send(_start_message(response))
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    watch.disarm()
    await send({"type": "http.response.body", "body": b""})


async def _send_whole(response: HttpResponseBase, send: Send) -> None:
    await send(_start_message(response))
    await send({"type": "http.response.body", "body": response.content})  # type: ignore[attr-defined]


def _start_message(response: HttpResponseBase) -> Message:
    if not response.streaming:
        response["Content-Length"] = str(len(response.content))  # type: ignore[attr-defined]
    headers = [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in response.items()]
    return {"type": "http.response.start", "status": response.status_code, "headers": headers}
