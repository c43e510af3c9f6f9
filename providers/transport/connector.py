"""The connection pool, and the call that is asking it.

aiohttp's session does not say when a call has its connection, nor whether that one had served before; the
first starts another of the four clocks, the second tells a stale connection from a broken server.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from ..contract import Deadlines
from ..faults import STALE_SIGNS, Fault, read_fault
from .watch import ClockLike, Watch

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

# What aiohttp, the sockets under it and TLS raise (timeouts and TLS errors are OSErrors); ValueError: what it
# refuses to send. Anything else is a bug and stays one.
TRANSPORT_ERRORS = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError)

# Below the 60 s and more that most front ends keep a connection; shorter ones cost a resend now and then.
KEEP_ALIVE_S = 55
DNS_CACHE_S = 60
TCP_PROBE_IDLE_S = 30  # no middlebox may forget the connection of a model that thinks for minutes

# A server that had closed before it read us says so within a round trip. One that goes away later may have
# begun the work, and asking twice may be paid twice.
STALE_WITHIN_US = 1_000_000


class Call:
    """A call until its answer's head is there: its clocks, its task, and the connection it was given."""

    __slots__ = (
        "_cancelling",
        "_clock",
        "_deadlines",
        "_reused",
        "_sent_at_us",
        "_task",
        "_transport",
        "watch",
    )

    def __init__(self, clock: ClockLike, deadlines: Deadlines) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clock = clock
        self._deadlines = deadlines
        self._task: asyncio.Task[Any] | None = task
        self._cancelling = task.cancelling()
        self._transport: asyncio.Transport | None = None
        self._reused = False
        self._sent_at_us = 0
        self.watch = Watch(clock, deadlines.total_s, self._interrupt)
        self.watch.enter(Fault.CONNECT_TIMEOUT, deadlines.connect_s)

    def connected(self, transport: asyncio.Transport | None, *, reused: bool) -> None:
        """The request goes out now: an upload that stalls is the first-byte clock's, too."""
        self._transport = transport
        self._reused = reused
        self._sent_at_us = self._clock.now_us()
        self.watch.enter(Fault.FIRST_BYTE_TIMEOUT, self._deadlines.first_byte_s)

    def abort(self) -> None:
        """Cut at once: a polite close would wait for a stalled upload or for TLS to say goodbye."""
        self.watch.close()
        if self._transport is not None:
            self._transport.abort()

    def read(self, exc: BaseException) -> Fault | None:
        """What ended the call; None if it was cancelled by somebody else, or is no fault of the transport."""
        if self.watch.expired is not None:
            assert self._task is not None
            cancelled_by_us_alone = self._task.uncancel() <= self._cancelling
            return self.watch.expired if cancelled_by_us_alone else None
        if not isinstance(exc, TRANSPORT_ERRORS):
            return None
        fault = read_fault(exc)
        if fault in STALE_SIGNS and self._reused and not _answer_begun(exc) and self._just_sent():
            return Fault.STALE_CONNECTION
        return fault

    def _just_sent(self) -> bool:
        return self._clock.now_us() - self._sent_at_us <= STALE_WITHIN_US

    def let_go(self) -> None:
        """A new connection keeps the context it was made in, and so this call, as long as it lives."""
        self._task = self._transport = None

    def _interrupt(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _answer_begun(exc: BaseException) -> bool:
    """aiohttp puts the part of a head that had come in place of the text."""
    return isinstance(exc, aiohttp.ServerDisconnectedError) and not isinstance(exc.message, str)


current_call: ContextVar[Call] = ContextVar("current_call")


class Connector(aiohttp.TCPConnector):
    """aiohttp's pool without its limits (the lanes bound us), telling each call about its connection."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__(
            limit=0,
            resolver=aiohttp.ThreadedResolver(),
            ttl_dns_cache=DNS_CACHE_S,
            keepalive_timeout=KEEP_ALIVE_S,
            socket_factory=_open_socket,
            ssl=tls or True,
        )
        self._served: WeakSet[ResponseHandler] = WeakSet()

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        connection = await super().connect(req, traces, timeout)
        protocol = connection.protocol
        assert protocol is not None
        reused = protocol in self._served
        if not reused:
            self._served.add(protocol)
            if protocol.closed is not None:
                protocol.closed.add_done_callback(_take_note)
        current_call.get().connected(connection.transport, reused=reused)
        return connection


def _take_note(closed: asyncio.Future[None]) -> None:
    """A kept-open connection may end in an error while nobody uses it; asyncio asks that somebody looks."""
    if not closed.cancelled():
        closed.exception()


def _open_socket(address: tuple[Any, ...]) -> socket.socket:
    """A TCP socket that notices a peer which vanished. (aiohttp sets TCP_NODELAY.)"""
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, TCP_PROBE_IDLE_S)
    return opened
