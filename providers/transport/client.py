"""The hot path: one request out, one `Exchange` back.

One aiohttp session per event loop, with what aiohttp does by default and a relay must not do turned off: at
most 100 connections, 300 s in all, redirects followed, cookies kept, paths re-quoted, `.netrc` read.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import Mapping, Sequence
from weakref import WeakSet

import aiohttp
import httpx

from ..contract import Deadlines
from ..faults import Fault, upstream_fault
from .address import origin_of, parse_url
from .connector import Call, Connector, current_call
from .exchange import Exchange
from .httpx_bridge import AiohttpTransport, cold_client
from .watch import ClockLike

HeaderPairs = Sequence[tuple[str, str]] | Mapping[str, str]

MAX_HEADER_LINE_BYTES = 64 * 1024
MAX_HEADERS = 256
READ_BUFFER_BYTES = 64 * 1024  # the reading of a stream pauses when twice this waits for a slow caller

# aiohttp warns of larger bodies handed over as bytes: it would write them in one go.
_ONE_WRITE_BYTES = 1024 * 1024
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
_DEFAULT_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "llm-relay"}


class Transport:
    """HTTP for one event loop. `tls` replaces the default trust, e.g. for a private certificate authority."""

    def __init__(self, clock: ClockLike, *, tls: ssl.SSLContext | None = None) -> None:
        self._clock = clock
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._running: WeakSet[Exchange] = WeakSet()
        self._closed = False

    async def post(self, url: str, *, headers: HeaderPairs, body: bytes, deadlines: Deadlines) -> Exchange:
        """Send `body`; return once the answer's head is there, of any status. Raises `TransportFault`."""
        return await self.send("POST", url, headers=headers, body=body, deadlines=deadlines)

    async def get(self, url: str, *, headers: HeaderPairs = (), deadlines: Deadlines) -> Exchange:
        """As `post`, without a body."""
        return await self.send("GET", url, headers=headers, body=None, deadlines=deadlines)

    async def send(
        self, method: str, url: str, *, headers: HeaderPairs, body: bytes | None, deadlines: Deadlines
    ) -> Exchange:
        """`url` goes out as it is, so it must be encoded already. Raises `TransportFault`."""
        call = Call(self._clock, deadlines)
        token = current_call.set(call)
        try:
            response = await self._open_session().request(
                method, parse_url(url), headers=headers, data=_payload(body), allow_redirects=False
            )
        except BaseException as exc:
            call.abort()
            fault = call.read(exc)
            if fault is None:  # cancelled by the caller, or a bug
                raise
            if self._closed:
                fault = Fault.CLOSED_HERE
            # Not chained: the library's text may carry the whole URL, and with it a key.
            told = None if isinstance(exc, asyncio.CancelledError) else exc  # a clock's fault comes as one
            raise upstream_fault(fault, origin=origin_of(url), exc=told) from None
        finally:
            current_call.reset(token)
            call.let_go()
        exchange = Exchange(response, call.watch, idle_s=deadlines.idle_s, url=url)
        self._running.add(exchange)
        return exchange

    def cold_client(self) -> httpx.AsyncClient:
        """httpx over the same connections, for paths where its comfort is worth its cost."""
        return cold_client(AiohttpTransport(self.send))

    async def close(self) -> None:
        """Cut what runs and close what is kept open. Idempotent."""
        self._closed = True
        for exchange in list(self._running):  # aiohttp would leave their readers waiting for ever
            exchange.close()
        if self._session is not None:
            await self._session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise aiohttp.ClientConnectionError("closed here")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=Connector(self._tls),
                headers=_DEFAULT_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_NO_TIMEOUT,
                trust_env=False,
                auto_decompress=False,
                read_bufsize=READ_BUFFER_BYTES,
                max_line_size=MAX_HEADER_LINE_BYTES,
                max_field_size=MAX_HEADER_LINE_BYTES,
                max_headers=MAX_HEADERS,
            )
        return self._session


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    if body is not None and len(body) > _ONE_WRITE_BYTES:
        return io.BytesIO(body)
    return body
