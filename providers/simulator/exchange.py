"""One request and its answer on the wire: reading, writing, noticing that the client has left, breaking off."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any

from providers.simulator.plan import Headers, Reply
from providers.simulator.request import Request, read_request

ASGIMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[ASGIMessage]]
Send = Callable[[ASGIMessage], Awaitable[None]]
TRANSPORT = "simulator.transport"  # ASGI extensions of `server`: the socket, and whom to call when it is lost
WHEN_LOST = "simulator.when_lost"
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, zero seconds: close sends RST and drops what is unsent


class ClientGone(Exception):
    """The client left before its request was read."""


class Exchange:
    """`date` is asked for the value of each answer's `Date`."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send, date: Callable[[], str]) -> None:
        self._date = date
        self._scope = scope
        self._receive = receive
        self._send = send

    async def read(self) -> Request:
        """The request with its whole body. Raises ClientGone."""
        body = bytearray()
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            body += message.get("body", b"")
            more = message.get("more_body", False)
        return read_request(self._scope, bytes(body))

    def when_lost(self, callback: Callable[[], None]) -> None:
        """Call back in the moment the connection is lost (no socket: `unless_left` ends, a few turns later)."""
        self._scope.get("extensions", {}).get(WHEN_LOST, []).append(callback)

    async def unless_left(self, work: Coroutine[Any, Any, None]) -> None:
        """Do `work`, or give it up as soon as the client leaves."""
        working = asyncio.ensure_future(work)
        watching = asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            for task in (working, watching):
                task.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)

    async def start(self, status: int, headers: Headers) -> None:
        dated = (("date", self._date()), *headers)
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in dated]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def write(self, payload: bytes) -> None:
        await self._send({"type": "http.response.body", "body": payload, "more_body": True})

    async def finish(self, payload: bytes = b"") -> None:
        await self._send({"type": "http.response.body", "body": payload, "more_body": False})

    async def reply(self, reply: Reply) -> None:
        """One answer in one piece, without watching the client."""
        await self.start(reply.status, (*reply.headers, ("content-length", str(len(reply.body)))))
        await self.finish(reply.body)

    async def say_nothing(self) -> None:
        """For ever: whoever waits here is given up when the client has left or the connection is broken."""
        await asyncio.get_running_loop().create_future()

    def write_raw(self, payload: bytes) -> None:
        self._transport.write(payload)

    def cut(self) -> None:
        self._transport.close()

    def reset(self) -> None:
        # On a duplicate, since uvloop's socket object takes no options; the kernel keeps them for both.
        with socket.socket(fileno=socket.dup(self._transport.get_extra_info("socket").fileno())) as duplicate:
            duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._transport.abort()

    @property
    def _transport(self) -> asyncio.Transport:
        transport = self._scope.get("extensions", {}).get(TRANSPORT)
        if transport is None:
            raise ConnectionResetError("no socket under this call: faults below HTTP need `server.serving`")
        return transport  # type: ignore[no-any-return]

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
