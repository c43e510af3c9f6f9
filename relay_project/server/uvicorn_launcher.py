"""uvicorn (httptools, uvloop) with the same stop as our daphne: drain, hurry, cancel, settle."""

from __future__ import annotations

import socket
from types import FrameType

import uvicorn

from relay_project.errors import BodyTooLarge
from relay_project.server.draining import Drain, cancel_and_settle
from relay_project.server.listening import listen
from relay_project.server.options import Application, Message, Receive, Send, ServerOptions

KEEP_ALIVE_S = 60
START_FAILED = 3


def serve(options: ServerOptions) -> int:
    """Serve until a signal; returns the exit code."""
    config = uvicorn.Config(
        limit_bodies(options),
        http="httptools",
        loop="uvloop",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    server = DrainingServer(config, options)
    with listen(options.host, options.port) as listener:
        server.run(sockets=[listener])
    return 0 if server.started else START_FAILED


class DrainingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, options: ServerOptions) -> None:
        super().__init__(config)
        self.options = options
        self._drain = Drain(options.drain_limit_s)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Not recorded as uvicorn does: it would raise the signal again at the end of a clean stop."""
        self.should_exit = True
        self._drain.signal()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.options.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in self.servers:
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._drain.wait(self.options.application, self._is_quiet)
        await cancel_and_settle(list(self.server_state.tasks))
        await self.lifespan.shutdown()

    def _is_quiet(self) -> bool:
        return not self.server_state.connections and not self.server_state.tasks


def limit_bodies(options: ServerOptions) -> Application:
    """Refuse by Content-Length before the application starts, and cut a chunked upload that has gone over.

    The connection is kept: uvicorn drops the rest of the upload as it comes, so the client reads our answer
    whether it stops sending or not.
    """

    async def limited(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await options.application(scope, receive, send)
        elif _content_length(scope) > options.max_body_bytes:
            await _refuse(scope, send, options)
        else:
            await options.application(scope, _bounded(receive, options.max_body_bytes), send)

    return limited


def _content_length(scope: Message) -> int:
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(value)  # httptools has checked that it is a number


def _bounded(receive: Receive, limit_bytes: int) -> Receive:
    """The generation handler refuses at the message that goes over; whoever reads on loses the client
    instead.
    """
    taken_bytes = 0

    async def bounded() -> Message:
        nonlocal taken_bytes
        if taken_bytes > limit_bytes:
            return {"type": "http.disconnect"}
        message = await receive()
        taken_bytes += len(message.get("body", b""))
        return message

    return bounded


async def _refuse(scope: Message, send: Send, options: ServerOptions) -> None:
    language = next((value for name, value in scope["headers"] if name == b"accept-language"), b"")
    answer = options.render_refusal(BodyTooLarge(options.max_body_bytes), language.decode("latin-1"))
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.items()]
    headers.append((b"content-length", str(len(answer.content)).encode()))
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})
