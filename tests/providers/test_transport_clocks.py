"""The four clocks of a call, on a clock that stands still until told to go on."""

from __future__ import annotations

import asyncio
import functools
import socket
from typing import Any

import pytest

from providers.contract import Deadlines, RefusalKind
from providers.faults import Fault, TransportFault
from providers.transport import Exchange, Transport
from scheduling.clock import SECOND_US, FakeClock

from .loopback import LAST_CHUNK, Connection, Loopback, answer, chunk, chunked_head


def post(transport: Transport, url: str, deadlines: Deadlines) -> asyncio.Task[Exchange]:
    return asyncio.ensure_future(transport.post(url, headers=(), body=b"{}", deadlines=deadlines))


class Silent:
    """A server that takes the request and says the head, a chunk, or the end only when told to."""

    def __init__(self) -> None:
        self.received = asyncio.Event()
        self.gone = asyncio.Event()
        self.say: asyncio.Queue[bytes] = asyncio.Queue()

    async def __call__(self, connection: Connection) -> None:
        await connection.receive()
        self.received.set()
        leaving = asyncio.ensure_future(connection.gone())
        leaving.add_done_callback(lambda _: self.gone.set())
        try:
            while True:
                await connection.send(await self.say.get())
        finally:
            leaving.cancel()


async def fault_of(task: asyncio.Future[Any]) -> Fault:
    with pytest.raises(TransportFault) as caught:
        await asyncio.wait_for(task, 2)
    assert caught.value.refusal.kind is RefusalKind.TIMEOUT
    return caught.value.fault


async def test_a_call_of_four_hundred_seconds_is_answered(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(first_byte_s=500, total_s=600))
        await script.received.wait()
        await clock.advance(400)
        assert not call.done()
        script.say.put_nowait(answer(b"at last"))
        assert await (await call).read_all(100) == b"at last"


async def test_a_call_without_limits_outlives_any_time(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines())
        await script.received.wait()
        await clock.advance(100_000)
        script.say.put_nowait(answer(b"ok"))
        assert await (await call).read_all(100) == b"ok"


async def test_the_first_byte_clock_runs_from_the_connection_on(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(first_byte_s=30))
        await script.received.wait()
        await clock.advance(29.9)
        assert not call.done()
        await clock.advance(0.2)
        assert await fault_of(call) is Fault.FIRST_BYTE_TIMEOUT
        await asyncio.wait_for(script.gone.wait(), 1)


async def test_the_total_clock_ends_the_wait_for_a_head(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(first_byte_s=30, total_s=20))
        await script.received.wait()
        await clock.advance(20)
        assert await fault_of(call) is Fault.TOTAL_TIMEOUT


async def test_the_idle_clock_starts_anew_with_each_chunk(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(idle_s=10))
        script.say.put_nowait(chunked_head())
        exchange = await call
        for _ in range(20):
            reading = asyncio.ensure_future(anext(exchange.chunks()))
            await clock.advance(9)
            script.say.put_nowait(chunk(b"x"))
            assert await asyncio.wait_for(reading, 2) == b"x"
        reading = asyncio.ensure_future(anext(exchange.chunks()))
        await clock.advance(10)
        assert await fault_of(reading) is Fault.IDLE_TIMEOUT
        await asyncio.wait_for(script.gone.wait(), 1)


async def test_a_slow_caller_is_not_an_idle_provider(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(idle_s=10))
        script.say.put_nowait(chunked_head() + chunk(b"x"))
        exchange = await call
        assert await anext(exchange.chunks()) == b"x"
        await clock.advance(1000)
        script.say.put_nowait(chunk(b"y") + LAST_CHUNK)
        assert await exchange.read_all(10) == b"y"


async def test_the_total_clock_cuts_even_while_nobody_reads(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(idle_s=10, total_s=60))
        script.say.put_nowait(chunked_head() + chunk(b"x"))
        exchange = await call
        await clock.advance(60)
        await asyncio.wait_for(script.gone.wait(), 1)
        assert await fault_of(asyncio.ensure_future(anext(exchange.chunks()))) is Fault.TOTAL_TIMEOUT


async def test_the_total_clock_ends_a_stream_that_keeps_coming(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(idle_s=10, total_s=60))
        script.say.put_nowait(chunked_head())
        exchange = await call
        reading = asyncio.ensure_future(exchange.read_all(1000))
        for _ in range(12):
            assert not reading.done()
            script.say.put_nowait(chunk(b"x"))
            await asyncio.sleep(0.01)  # real: the chunk crosses the loopback
            await clock.advance(5)
        assert await fault_of(reading) is Fault.TOTAL_TIMEOUT


async def test_a_tls_handshake_that_never_comes_is_a_connect_timeout(transport: Transport, clock: FakeClock) -> None:
    accepted = asyncio.Event()
    gone = asyncio.Event()

    async def script(connection: Connection) -> None:
        accepted.set()
        await connection.gone()
        gone.set()

    async with Loopback(script) as server:
        call = post(transport, f"https://127.0.0.1:{server.port}", Deadlines(connect_s=5))
        await accepted.wait()
        await clock.advance(5)
        assert await fault_of(call) is Fault.CONNECT_TIMEOUT
        await asyncio.wait_for(gone.wait(), 1)


async def test_a_host_that_does_not_pick_up_is_a_connect_timeout(transport: Transport, clock: FakeClock) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        address = deaf.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        call = post(transport, f"http://127.0.0.1:{address[1]}", Deadlines(connect_s=5))
        await clock.advance(4.9)
        assert not call.done()
        await clock.advance(0.1)
        assert await fault_of(call) is Fault.CONNECT_TIMEOUT
        for filler in fillers:
            filler.close()


async def test_a_kept_open_connection_has_no_connect_clock(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        script.say.put_nowait(answer())
        await (await post(transport, server.url, Deadlines(connect_s=5))).read_all(10)
        call = post(transport, server.url, Deadlines(connect_s=5))
        for _ in range(10):
            await asyncio.sleep(0)
        await clock.advance(100)
        script.say.put_nowait(answer(b"late"))
        assert await (await call).read_all(10) == b"late"


def _cancel(task: asyncio.Task[Exchange]) -> None:
    task.cancel()


async def test_a_caller_cancelling_at_the_same_moment_stays_cancelled(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    async with Loopback(script) as server:
        call = post(transport, server.url, Deadlines(first_byte_s=30))
        await script.received.wait()
        clock.call_at(clock.now_us() + 30 * SECOND_US, functools.partial(_cancel, call))
        await clock.advance(30)
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_clock_that_ran_out_leaves_the_task_uncancelled(transport: Transport, clock: FakeClock) -> None:
    script = Silent()
    counts: list[int] = []

    async def caller(url: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(TransportFault):
            await transport.post(url, headers=(), body=b"", deadlines=Deadlines(first_byte_s=1))
        counts.append(task.cancelling())
        await asyncio.sleep(0)

    async with Loopback(script) as server:
        task = asyncio.ensure_future(caller(server.url))
        await script.received.wait()
        await clock.advance(1)
        await task
    assert counts == [0]
