"""A kept-open connection that had died is told from a server that died over its work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from providers.faults import Fault
from providers.transport import Transport
from scheduling.clock import FakeClock

from .callers import ask, fault_of
from .loopback import Connection, Loopback, answer, half_a_head, hang_up, reset


class Kept:
    """Answers the first request and keeps the connection open; then does `then` with the second request."""

    def __init__(self, then: Callable[[Connection], Awaitable[None]]) -> None:
        self._then = then
        self.connections = 0

    async def __call__(self, connection: Connection) -> None:
        self.connections += 1
        await connection.receive()
        await connection.send(answer())
        if self.connections == 1:
            await self._then(connection)
        else:
            await connection.gone()


@pytest.mark.parametrize("then", [hang_up, reset])
async def test_a_kept_connection_that_had_died_is_safe_to_resend_and_not_resent(
    transport: Transport, then: Callable[[Connection], Awaitable[None]]
) -> None:
    script = Kept(then)
    async with Loopback(script) as server:
        assert await ask(transport, server.url) == b"ok"
        fault = await fault_of(transport, server.url)
        assert fault.fault is Fault.STALE_CONNECTION
        assert fault.safe_to_resend
        assert fault.refusal.evidence.startswith("stale_connection")
        assert script.connections == 1
        assert await ask(transport, server.url) == b"ok"


async def test_a_server_that_dies_after_it_began_to_answer_is_not_stale(transport: Transport) -> None:
    async with Loopback(Kept(half_a_head)) as server:
        await ask(transport, server.url)
        fault = await fault_of(transport, server.url)
        assert fault.fault is Fault.DISCONNECTED
        assert not fault.safe_to_resend


async def test_a_server_that_dies_over_its_work_is_not_stale() -> None:
    clock = FakeClock()
    transport = Transport(clock)
    received, die = asyncio.Event(), asyncio.Event()

    async def think_and_die(connection: Connection) -> None:
        await connection.receive()
        received.set()
        await die.wait()

    async with Loopback(Kept(think_and_die)) as server:
        await ask(transport, server.url)
        call = asyncio.ensure_future(fault_of(transport, server.url))
        await received.wait()
        await clock.advance(5)
        die.set()
        assert (await call).fault is Fault.DISCONNECTED
        await transport.close()


async def test_a_connection_closed_between_two_requests_is_not_used_again(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer())

    async with Loopback(script) as server:
        for _ in range(5):
            assert await ask(transport, server.url) == b"ok"
            await asyncio.sleep(0.02)  # real: the close crosses the loopback
        assert server.accepted == 5
