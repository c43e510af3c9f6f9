"""httpx's API over the same connections: for model lists and checks, never for a stream of tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import MappingProxyType
from typing import Protocol

import httpx

from ..contract import Deadlines
from ..faults import Fault, TransportFault
from .exchange import Exchange

COLD_TIMEOUT = httpx.Timeout(30.0, connect=10.0)

ERROR_BY_FAULT: Mapping[Fault, type[httpx.TransportError] | type[httpx.DecodingError]] = MappingProxyType(
    {
        Fault.CONNECTION_REFUSED: httpx.ConnectError,
        Fault.DNS: httpx.ConnectError,
        Fault.UNREACHABLE: httpx.ConnectError,
        Fault.CERTIFICATE: httpx.ConnectError,
        Fault.TLS: httpx.ConnectError,
        Fault.OUT_OF_SOCKETS: httpx.ConnectError,
        Fault.STALE_CONNECTION: httpx.RemoteProtocolError,
        Fault.DISCONNECTED: httpx.RemoteProtocolError,
        Fault.RESET: httpx.ReadError,
        Fault.GARBLED: httpx.RemoteProtocolError,
        Fault.LINE_TOO_LONG: httpx.RemoteProtocolError,
        Fault.BROKEN_BODY: httpx.RemoteProtocolError,
        Fault.UNKNOWN_ENCODING: httpx.DecodingError,
        Fault.ANSWER_TOO_LARGE: httpx.ReadError,
        Fault.INVALID_URL: httpx.UnsupportedProtocol,
        Fault.UNSENDABLE: httpx.LocalProtocolError,
        Fault.REDIRECT: httpx.RemoteProtocolError,
        Fault.PROXY: httpx.ProxyError,
        Fault.CLOSED_HERE: httpx.CloseError,
        Fault.CONNECT_TIMEOUT: httpx.ConnectTimeout,
        Fault.FIRST_BYTE_TIMEOUT: httpx.ReadTimeout,
        Fault.IDLE_TIMEOUT: httpx.ReadTimeout,
        Fault.TOTAL_TIMEOUT: httpx.ReadTimeout,
        Fault.OTHER: httpx.TransportError,
    }
)

# Written anew by aiohttp from the body as it is sent.
_FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})


class Send(Protocol):
    """`Transport.send`."""

    async def __call__(
        self,
        method: str,
        url: str,
        *,
        headers: list[tuple[str, str]],
        body: bytes | None,
        deadlines: Deadlines,
    ) -> Exchange: ...


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Raises httpx's own exceptions, each caused by the `TransportFault` it was."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        headers = [pair for pair in request.headers.multi_items() if pair[0] not in _FRAMING_HEADERS]
        try:
            exchange = await self._send(
                request.method,
                str(request.url),
                headers=headers,
                body=body or None,
                deadlines=_deadlines(request),
            )
        except TransportFault as fault:
            raise _httpx_error(fault, request) from fault
        return httpx.Response(exchange.status, headers=list(exchange.headers.items()), stream=_Body(exchange, request))


def cold_client(transport: AiohttpTransport) -> httpx.AsyncClient:
    """A client that follows no redirect, keeps no cookie and reads no environment."""
    return httpx.AsyncClient(
        transport=transport,
        headers={"Accept-Encoding": "identity", "User-Agent": "llm-relay"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=COLD_TIMEOUT,
        trust_env=False,
    )


class _Body(httpx.AsyncByteStream):
    def __init__(self, exchange: Exchange, request: httpx.Request) -> None:
        self._exchange = exchange
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._exchange.chunks():
                yield chunk
        except TransportFault as fault:
            raise _httpx_error(fault, self._request) from fault

    async def aclose(self) -> None:
        self._exchange.close()


def _httpx_error(fault: TransportFault, request: httpx.Request) -> httpx.RequestError:
    return ERROR_BY_FAULT[fault.fault](fault.refusal.message, request=request)


def _deadlines(request: httpx.Request) -> Deadlines:
    """httpx's timeouts: `read` is both the wait for the head and the wait between two reads."""
    timeout: Mapping[str, float | None] = request.extensions.get("timeout", {})
    connect_s, read_s = timeout.get("connect"), timeout.get("read")
    if connect_s is None:
        return Deadlines(first_byte_s=read_s, idle_s=read_s)
    return Deadlines(connect_s=connect_s, first_byte_s=read_s, idle_s=read_s)
