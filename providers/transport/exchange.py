"""One answer in progress: its status, its headers, its bytes as they come."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import aiohttp
from multidict import CIMultiDict

from ..faults import Fault, TransportFault, read_fault, upstream_fault
from .address import origin_of
from .connector import TRANSPORT_ERRORS
from .inflating import KNOWN_ENCODINGS, Inflater
from .watch import Watch

if TYPE_CHECKING:
    from multidict import MultiMapping


class _Cut(aiohttp.ClientError):
    """Put into the stream to wake its reader when the answer is cut on this side."""


class Exchange:
    """Whoever holds it must `close()` it.

    `status` is whatever came, redirects included. `headers` is a multi-dict looked up in any case. A content
    encoding is undone and its header dropped.
    """

    __slots__ = (
        "__weakref__",
        "_content",
        "_ended",
        "_idle_s",
        "_inflater",
        "_lost",
        "_response",
        "_url",
        "_watch",
        "headers",
        "status",
    )

    def __init__(self, response: aiohttp.ClientResponse, watch: Watch, *, idle_s: float | None, url: str) -> None:
        """Takes over `response` and `watch`. Raises `TransportFault` for an encoding it cannot undo."""
        self.status: int = response.status
        self.headers: MultiMapping[str] = response.headers
        self._response = response
        self._content = response.content
        self._watch = watch
        self._idle_s = idle_s
        self._url = url
        self._ended = False
        self._inflater: Inflater | None = None
        watch.on_expired = self._cut
        watch.leave()
        self._lost = _lost_of(response)
        if self._lost is not None:
            self._lost.add_done_callback(self._wake_reader)
        encoding = self.headers.get("content-encoding")
        if encoding is not None:
            self._undo(encoding.strip().lower())

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, one item per network read (what is already there is joined). Raises `TransportFault`."""
        return self

    async def read_all(self, limit_bytes: int) -> bytes:
        """The rest of the body. Raises `TransportFault`, also for more than `limit_bytes`."""
        parts = []
        size = 0
        async for chunk in self:
            parts.append(chunk)
            size += len(chunk)
            if size > limit_bytes:
                raise self._fail(Fault.ANSWER_TOO_LARGE)
        return b"".join(parts)

    def close(self) -> None:
        """Cut the connection, unless the answer was read to its end: then it is back in the pool already."""
        self._release()
        if not self._ended:
            self._cut()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await (self._read() if self._inflater is None else self._read_inflated(self._inflater))
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def _read(self) -> bytes:
        """One read; b"" at the end. A cancelled read leaves the exchange readable (a drain may go on)."""
        if self._ended:
            return b""
        self._watch.enter(Fault.IDLE_TIMEOUT, self._idle_s)
        try:
            chunk = await self._content.readany()
        except TRANSPORT_ERRORS as exc:
            raise self._fail(self._read_fault(exc), exc) from None
        finally:
            self._watch.leave()
        if not chunk:
            self._ended = True
            self._release()
        return chunk

    async def _read_inflated(self, inflater: Inflater) -> bytes:
        try:
            while not (plain := inflater.take()):
                packed = await self._read()
                if not packed:
                    inflater.check_end()
                    return b""
                inflater.feed(packed)
        except zlib.error as exc:
            raise self._fail(read_fault(exc), exc) from None
        return plain

    def _undo(self, encoding: str) -> None:
        if encoding in ("", "identity"):
            return
        if encoding not in KNOWN_ENCODINGS:
            raise self._fail(Fault.UNKNOWN_ENCODING)
        self._inflater = Inflater()
        plain_headers = CIMultiDict(self.headers)
        plain_headers.popall("content-encoding")
        plain_headers.popall("content-length", None)
        self.headers = plain_headers

    def _read_fault(self, exc: BaseException) -> Fault:
        if isinstance(exc, _Cut):
            return self._watch.expired or Fault.CLOSED_HERE
        return read_fault(exc)

    def _fail(self, fault: Fault, exc: BaseException | None = None) -> TransportFault:
        self.close()
        return upstream_fault(fault, origin=origin_of(self._url), exc=None if isinstance(exc, _Cut) else exc)

    def _release(self) -> None:
        self._watch.close()
        if self._lost is not None:
            self._lost.remove_done_callback(self._wake_reader)

    def _wake_reader(self, _: asyncio.Future[None]) -> None:
        """The connection is gone. aiohttp forgets the reader if the chunks were garbage: it would wait for ever."""
        if not self._content.is_eof() and self._content.exception() is None:
            self._content.set_exception(aiohttp.ClientPayloadError("connection lost"))

    def _cut(self) -> None:
        """Abort rather than close: a polite close waits for TLS to say goodbye. Idempotent."""
        self._content.set_exception(_Cut())
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()


def _lost_of(response: aiohttp.ClientResponse) -> asyncio.Future[None] | None:
    """Done when the connection is gone; None if the whole answer has come already."""
    connection = response.connection
    return connection.protocol.closed if connection is not None and connection.protocol is not None else None
