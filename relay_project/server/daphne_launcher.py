"""daphne with our own life: lifespan, own signals, drain before stop.

Stock daphne cancels every stream at SIGTERM and kills an application 10 s after its client has left, while it
may still be putting its books in order. Importing this module installs Twisted's asyncio reactor (daphne does
it), so it must be imported before anything else that imports Twisted.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import Any

from daphne.server import Server
from daphne.ws_protocol import WebSocketFactory
from twisted.internet import reactor
from twisted.logger import globalLogBeginner

from relay_project.server.daphne_http import RelayChannel, RelayHTTPFactory, RelayRequest, RelayWebSocket
from relay_project.server.draining import Drain, cancel_and_settle
from relay_project.server.lifespan import Lifespan, LifespanFailed
from relay_project.server.listening import family_of, listen
from relay_project.server.options import Message, ServerOptions

log = logging.getLogger(__name__)

APP_CLOSE_LIMIT_S = 900  # after its client has left; above the longest run timeout of the presets (660 s)
CLOSE_SOCKETS_S = 2.0
SERVICE_RESTART = 1012  # WebSocket close code
START_FAILED = 3


def serve(options: ServerOptions) -> int:
    """Serve until a signal; returns the exit code."""
    return RelayServer(options).serve()


class RelayServer(Server):  # type: ignore[misc]  # daphne is not typed
    def __init__(self, options: ServerOptions) -> None:
        super().__init__(
            options.application,
            endpoints=["our own socket"],  # daphne insists on one; it is not used
            request_buffer_size=options.max_body_bytes + 1,  # a body is one message
            application_close_timeout=APP_CLOSE_LIMIT_S,
            server_name="",
        )
        self.options = options
        self.connections: dict[Any, dict[str, Any]] = {}
        self.channels: set[RelayChannel] = set()
        self.held_bytes = 0
        self.draining = False
        self._drain = Drain(options.drain_limit_s)
        self._lifespan = Lifespan(options.application)

    def serve(self) -> int:
        globalLogBeginner.beginLoggingTo([lambda _event: None], redirectStandardIO=False, discardBuffer=True)
        self.ws_factory = self._web_socket_factory()
        asyncio.set_event_loop(reactor._asyncioEventloop)
        life: asyncio.Task[int] = reactor._asyncioEventloop.create_task(self._live())
        reactor.run(installSignalHandlers=False)
        return life.result()

    async def _live(self) -> int:
        """From the first listening to the last flushed byte; returns the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._drain.signal)
        try:
            await self._lifespan.startup()
            port = self._listen()
            await self._drain.asked.wait()
            await self._stop_serving(port)
            await self._lifespan.shutdown()
            return 0
        except LifespanFailed as failure:
            log.error("%s", failure, exc_info=failure.__cause__)
            return START_FAILED
        finally:
            # As asyncio.run does: a task left pending crashes the interpreter on its way out (CPython 3.11).
            await cancel_and_settle(asyncio.all_tasks() - {asyncio.current_task()})
            reactor.stop()

    def _listen(self) -> Any:
        listener = listen(self.options.host, self.options.port)
        with listener:  # Twisted takes a copy of the descriptor
            port = reactor.adoptStreamPort(listener.fileno(), family_of(self.options.host), RelayHTTPFactory(self))
        self.application_checker()
        self.timeout_checker()
        self.options.ready()
        return port

    def _web_socket_factory(self) -> Any:
        factory = WebSocketFactory(self, server=self.server_name)
        factory.protocol = RelayWebSocket
        factory.setProtocolOptions(
            autoPingTimeout=self.ping_timeout,
            allowNullOrigin=True,
            openHandshakeTimeout=self.websocket_handshake_timeout,
            maxMessagePayloadSize=self.websocket_max_message_size,
            maxFramePayloadSize=self.websocket_max_frame_size,
        )
        return factory

    # Replies

    async def handle_reply(self, protocol: Any, message: Message) -> None:
        """Hand one ASGI message to the connection, then wait while its client is slower than we are."""
        await super().handle_reply(protocol, message)
        gate = protocol.gate
        if gate is not None and gate.is_shut:
            await gate.wait()

    # Stopping

    async def _stop_serving(self, port: Any) -> None:
        self.draining = True
        port.stopListening()
        for channel in list(self.channels):
            channel.close_when_idle()
        await self._drain.wait(self.options.application, self._is_quiet)
        await self._close_web_sockets()
        await cancel_and_settle(self._running())

    def _is_quiet(self) -> bool:
        """Every answer is out and flushed, every HTTP call of the application has ended."""
        return not self.channels and not self._running(RelayRequest)

    def _running(self, kind: type = object) -> list[asyncio.Future[None]]:
        calls = [
            details.get("application_instance")
            for protocol, details in self.connections.items()
            if isinstance(protocol, kind)
        ]
        return [call for call in calls if call is not None and not call.done()]

    async def _close_web_sockets(self) -> None:
        for protocol in list(self.connections):
            if isinstance(protocol, RelayWebSocket):
                protocol.sendCloseFrame(code=SERVICE_RESTART)  # sendClose refuses codes below 3000
        calls = self._running(RelayWebSocket)
        if calls:
            await asyncio.wait(calls, timeout=CLOSE_SOCKETS_S)
