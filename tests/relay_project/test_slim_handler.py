"""The slim ASGI handler: bodies, disconnects, and that a success is never taken for a leaving client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import path

from relay_project.api.slim import HeldBytes, SlimHandler

SEEN: list[str] = []
HOLD: dict[str, asyncio.Event] = {}


@pytest.fixture(autouse=True)
def _forget(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    SEEN.clear()
    HOLD.clear()


async def echo(request: Any) -> HttpResponse:
    return HttpResponse(request.body, headers={"X-Name": "value"})


async def waits(request: Any) -> HttpResponse:
    SEEN.append("waiting")
    try:
        await HOLD.setdefault("go", asyncio.Event()).wait()
    except asyncio.CancelledError:
        SEEN.append("cancelled")
        raise
    return HttpResponse(b"done")


async def streams(request: Any) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        try:
            for number in range(3):
                yield b"%d" % number
                await HOLD.get("go", _open()).wait()
            SEEN.append("complete")
        finally:
            SEEN.append("closed")

    return StreamingHttpResponse(parts(), content_type="text/event-stream")


def _open() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


class Holding(HttpResponseBase):
    """Holds something from the beginning, as an answer of the relay does its lane."""

    streaming = True

    def __aiter__(self) -> Holding:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        SEEN.append("given back")


async def holds(request: Any) -> Holding:
    return Holding()


urlpatterns = [path("echo", echo), path("waits", waits), path("streams", streams), path("holds", holds)]


class Client:
    """One ASGI connection: queues what the server would say, keeps what the application sends."""

    def __init__(self, path: str, *, handler: SlimHandler | None = None) -> None:
        self.inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self._sent_more = asyncio.Event()
        self.handler = handler or SlimHandler(1000, HeldBytes(5000))
        headers = [(b"host", b"testserver")]
        self.scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}

    def say(self, body: bytes, *, more: bool = False) -> Client:
        self.inbox.put_nowait({"type": "http.request", "body": body, "more_body": more})
        return self

    def leave(self) -> None:
        self.inbox.put_nowait({"type": "http.disconnect"})

    def start(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.handler(self.scope, self.inbox.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self._sent_more.set()
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.leave()  # both servers deliver the disconnect right behind the last byte
        await asyncio.sleep(0)

    async def has_sent(self, count: int) -> None:
        while len(self.sent) < count:
            self._sent_more.clear()
            await self._sent_more.wait()

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


async def until(what: str) -> None:
    for _ in range(1000):
        if what in SEEN:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{what} never happened: {SEEN}")


async def test_a_body_in_pieces_reaches_the_view_whole_and_is_no_longer_held_after() -> None:
    client = Client("/echo").say(b"ab", more=True).say(b"cd")
    await client.start()
    assert (client.status, client.body) == (200, b"abcd")
    assert (b"x-name", b"value") in client.sent[0]["headers"]
    assert client.handler.held.held == 0


async def test_what_is_whole_says_how_long_it_is_and_a_stream_does_not() -> None:
    whole, missing, stream = Client("/echo").say(b"abcd"), Client("/nowhere").say(b""), Client("/streams").say(b"")
    too_large = Client("/echo").say(b"x" * 1001)
    for client in (whole, missing, stream, too_large):
        await client.start()
    lengths = [dict(client.sent[0]["headers"]).get(b"content-length") for client in (whole, missing, too_large)]
    assert lengths == [b"4", str(len(missing.body)).encode(), str(len(too_large.body)).encode()]
    assert b"content-length" not in dict(stream.sent[0]["headers"])


async def test_a_body_over_the_limit_is_refused_before_the_rest_is_read() -> None:
    client = Client("/echo").say(b"x" * 600, more=True).say(b"x" * 600, more=True)
    await client.start()
    assert client.status == 413
    assert b'"code":"request_too_large"' in client.body
    assert b"connection" not in dict(client.sent[0]["headers"])  # closing it now would cost the client the answer
    assert client.handler.held.held == 0


async def test_too_many_bytes_held_by_all_requests_is_gateway_overloaded_with_both_times() -> None:
    handler = SlimHandler(1000, HeldBytes(1500))
    first = Client("/waits", handler=handler).say(b"x" * 900)
    running = first.start()
    await until("waiting")
    second = Client("/echo", handler=handler).say(b"x" * 900)
    await second.start()
    assert second.status == 429
    names = {name for name, _value in second.sent[0]["headers"]}
    assert {b"retry-after", b"retry-after-ms"} <= names
    HOLD["go"].set()
    await running
    assert handler.held.held == 0


async def test_a_client_that_leaves_while_the_view_works_cancels_it_at_once() -> None:
    client = Client("/waits").say(b"")
    running = client.start()
    await until("waiting")
    client.leave()
    await running
    assert SEEN == ["waiting", "cancelled"]
    assert client.sent == []
    assert client.handler.held.held == 0


async def test_a_client_that_leaves_during_the_upload_never_reaches_the_view() -> None:
    client = Client("/waits").say(b"abc", more=True)
    client.leave()
    await client.start()
    assert SEEN == []
    assert client.handler.held.held == 0


async def test_a_client_that_leaves_mid_stream_closes_the_stream_at_once() -> None:
    HOLD["go"] = asyncio.Event()
    client = Client("/streams").say(b"")
    running = client.start()
    await client.has_sent(2)
    client.leave()
    await running
    assert SEEN == ["closed"]


async def test_a_client_that_leaves_before_the_head_is_out_gives_back_what_the_answer_holds() -> None:
    client = Client("/holds").say(b"")

    async def stuck(message: dict[str, Any]) -> None:
        client.leave()
        await asyncio.Event().wait()

    client._send = stuck  # type: ignore[method-assign]
    await client.start()
    assert SEEN == ["given back"]


async def test_a_thousand_completed_streams_are_never_taken_for_leaving_clients() -> None:
    for _ in range(1000):
        await Client("/streams").say(b"").start()
    assert SEEN.count("complete") == 1000


async def test_the_servers_own_cancellation_passes_through_even_twice() -> None:
    client = Client("/waits").say(b"")
    running = client.start()
    await until("waiting")
    running.cancel()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert client.handler.held.held == 0


async def test_an_unknown_address_is_told_in_the_callers_dialect() -> None:
    client = Client("/nowhere").say(b"{}")
    await client.start()
    assert client.status == 404
    assert b'"code":"not_found"' in client.body


async def test_five_hundred_streams_start_no_thread() -> None:
    HOLD["go"] = asyncio.Event()
    before = threading.active_count()
    clients = [Client("/streams").say(b"") for _ in range(500)]
    running = [client.start() for client in clients]
    for client in clients:
        await client.has_sent(2)
    assert threading.active_count() == before
    HOLD["go"].set()
    await asyncio.gather(*running)
    assert SEEN.count("complete") == 500
