"""The simulator on a socket: uvicorn's HTTP, with the socket within reach for faults below HTTP.

Only uvicorn's protocol is used, not its server: that one takes over signals, and asks all connections to end in
their own time, where a provider that is gone is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from providers.simulator.app import Simulator
from providers.simulator.exchange import TRANSPORT, WHEN_LOST

HOST = "127.0.0.1"
KEEP_ALIVE_S = 75
BACKLOG = 2048


class _ReachableSocket(HttpToolsProtocol):
    """Hands its transport to the application, and calls it back in the very moment the connection is lost.

    The disconnect message alone would come some turns of the loop later: a request sent after a client has closed
    another could be seen before the close, and both be counted as running.
    """

    _when_lost: list[Callable[[], None]]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._when_lost = []

    def connection_lost(self, exc: Exception | None) -> None:
        for callback in self._when_lost:
            callback()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._when_lost = []
        self.scope["extensions"] = {TRANSPORT: self.transport, WHEN_LOST: self._when_lost}  # type: ignore[dict-item]


@contextlib.asynccontextmanager
async def serving(simulator: Simulator, port: int = 0) -> AsyncIterator[str]:
    """Listen on the loopback for as long as the block runs, then hang up on everybody.

    Yields `http://127.0.0.1:PORT`; port 0 takes a free one. Raises OSError if the port is taken.
    """
    config, state = _config(simulator), ServerState()
    simulator.provider.start()
    listener = await asyncio.get_running_loop().create_server(
        lambda: _ReachableSocket(config, state, {}), HOST, port, backlog=BACKLOG
    )
    try:
        yield f"http://{HOST}:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        await listener.wait_closed()


def _config(simulator: Simulator) -> uvicorn.Config:
    config = uvicorn.Config(
        simulator,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    config.load()
    return config
