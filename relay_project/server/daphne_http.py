"""daphne's HTTP side, with what it lacks: a bound on what is taken in, and on what is held for a slow reader.

- A body that is too large is refused at its Content-Length, or at the chunk that goes over; stock daphne
  takes in the whole upload first. The refusal is followed by a half-close and the rest is read and dropped
  for `LINGER_S`: closing at once would reset the connection, and a client that is still sending would lose
  the answer.
- While the transport's buffer is full, `send` waits (`WriteGate`). So at most Twisted's 64 KiB, one message
  and the kernel's unsent bytes are in flight per stream.
"""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import TYPE_CHECKING, Any

from daphne.http_protocol import WebRequest
from daphne.ws_protocol import WebSocketProtocol
from django.http import HttpResponse
from twisted.web import http

from relay_project.errors import BodyTooLarge, TooMuchHeld
from scheduling.errors import StoreAway

if TYPE_CHECKING:
    from relay_project.server.daphne_launcher import RelayServer

LINGER_S = 5.0  # for a refused upload
FLUSH_LIMIT_S = 60.0  # for the last bytes of an answer that closes its connection


class WriteGate:
    """Shut while the client takes its bytes more slowly than they come."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._opened.set()
        self.shut = self._opened.clear
        self.open = self._opened.set
        self.wait = self._opened.wait

    @property
    def is_shut(self) -> bool:
        return not self._opened.is_set()


class RelayChannel(http.HTTPChannel):  # type: ignore[misc]  # Twisted is not typed
    """One client connection."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = WriteGate()
        self.refused = False
        self._deadline: Any = None

    @property
    def server(self) -> RelayServer:
        server: RelayServer = self.factory.server
        return server

    def connectionMade(self) -> None:
        super().connectionMade()
        self.server.channels.add(self)

    def connectionLost(self, reason: Any) -> None:
        self.server.channels.discard(self)
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        super().connectionLost(reason)

    def allHeadersReceived(self) -> None:
        limit = self.server.options.max_body_bytes
        if self.length is not None and self.length > limit:
            self.refuse(BodyTooLarge(limit))  # also in place of "100 Continue"
        else:
            super().allHeadersReceived()

    def rawDataReceived(self, data: bytes) -> None:
        if not self.refused:
            super().rawDataReceived(data)

    def allContentReceived(self) -> None:
        if not self.refused:
            super().allContentReceived()

    def refuse(self, error: Exception) -> None:
        """Answer now, drop what still comes, close."""
        self.refused = True
        self.setTimeout(None)
        languages = self.requests[-1].requestHeaders.getRawHeaders(b"accept-language", [b""])
        answer = self.server.options.render_refusal(error, languages[0].decode("latin-1"))
        self.transport.write(wire_bytes(answer))
        self.transport.loseWriteConnection()
        self._abort_after(LINGER_S)

    def close_when_idle(self) -> None:
        """Draining: close now unless an answer is being given; that one closes at its end."""
        if self.requests:
            self.persistent = False
        else:
            self.loseConnection()

    def loseConnection(self) -> None:
        self.gate.open()  # the transport reports no more from here on
        self._abort_after(FLUSH_LIMIT_S)
        super().loseConnection()

    def _abort_after(self, seconds: float) -> None:
        if self._deadline is None:
            self._deadline = self.callLater(seconds, self.transport.abortConnection)

    # The transport's flow control; it calls these for an upgraded WebSocket as well.

    def pauseProducing(self) -> None:
        self.gate.shut()
        super().pauseProducing()

    def resumeProducing(self) -> None:
        self.gate.open()
        super().resumeProducing()

    def stopProducing(self) -> None:
        self.gate.open()
        super().stopProducing()


class RelayRequest(WebRequest):  # type: ignore[misc]
    """One request: its body in memory, counted while it comes in."""

    def __init__(self, channel: RelayChannel, queued: object = None) -> None:
        super().__init__(channel, parsePOSTFormSubmission=False)
        self.gate = channel.gate
        self.taken_bytes = 0

    def gotLength(self, length: int | None) -> None:
        self.content = BytesIO()  # Twisted's own would put large bodies on disk

    def handleContentChunk(self, data: bytes) -> None:
        if self.channel.refused:
            return
        self.taken_bytes += len(data)
        self.server.held_bytes += len(data)
        if self.taken_bytes > self.server.options.max_body_bytes:
            self._refuse(BodyTooLarge(self.server.options.max_body_bytes))
        elif self.server.held_bytes > self.server.options.max_held_bytes:
            self._refuse(TooMuchHeld())
        else:
            super().handleContentChunk(data)

    def _refuse(self, error: Exception) -> None:
        self._give_back()
        self.content = BytesIO()
        self.channel.refuse(error)

    def _give_back(self) -> None:
        self.server.held_bytes -= self.taken_bytes
        self.taken_bytes = 0

    def process(self) -> Any:
        self._give_back()  # from here on the application counts it
        if self.server.draining:
            return self.channel.refuse(StoreAway(code="relay_draining"))
        self.requestHeaders.removeHeader(b"daphne-root-path")  # daphne would believe a client's
        channel = self.channel
        deferred = super().process()
        if self.transport is None:  # handed over to the WebSocket protocol
            self.server.channels.discard(channel)
        return deferred

    def handle_reply(self, message: dict[str, Any]) -> None:
        if self.server.draining and message["type"] == "http.response.start":
            self.responseHeaders.setRawHeaders(b"connection", [b"close"])
        super().handle_reply(message)

    def connectionLost(self, reason: Any) -> None:
        self._give_back()
        super().connectionLost(reason)


class RelayWebSocket(WebSocketProtocol):  # type: ignore[misc]
    """A WebSocket; its flow control still reaches the channel that it was upgraded from."""

    @property
    def gate(self) -> WriteGate | None:
        channel = getattr(self.transport, "producer", None)
        return channel.gate if channel is not None else None


class RelayHTTPFactory(http.HTTPFactory):  # type: ignore[misc]
    protocol = RelayChannel  # plain HTTP/1.1: TLS and HTTP/2 end at a proxy

    def __init__(self, server: RelayServer) -> None:
        super().__init__()
        self.server = server

    def buildProtocol(self, addr: Any) -> RelayChannel:
        channel: RelayChannel = super().buildProtocol(addr)
        channel.requestFactory = RelayRequest
        return channel

    def log(self, request: Any) -> None:
        """No access log here: usage rows are the record."""


def wire_bytes(answer: HttpResponse) -> bytes:
    """An answer that closes its connection, as HTTP/1.1 bytes."""
    answer["Content-Length"] = str(len(answer.content))
    answer["Connection"] = "close"
    lines = [
        f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}",
        *(f"{k}: {v}" for k, v in answer.items()),
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + answer.content
