"""What happens to the connections: reused, cut, closed, never too few."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from providers.faults import Fault, TransportFault
from providers.transport import Transport
from scheduling.clock import FakeClock

from .callers import ask, post
from .loopback import LAST_CHUNK, Connection, Loopback, answer, chunk, chunked_head


async def test_answers_read_to_the_end_share_one_connection(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        while True:
            await connection.receive()
            await connection.send(chunked_head() + chunk(b"a") + chunk(b"b") + LAST_CHUNK)

    async with Loopback(script) as server:
        for _ in range(20):
            assert await ask(transport, server.url) == b"ab"
        assert server.accepted == 1


async def test_three_hundred_streams_to_one_origin_run_at_once(transport: Transport) -> None:
    all_here = asyncio.Event()
    here = 0

    async def script(connection: Connection) -> None:
        nonlocal here
        await connection.receive()
        await connection.send(chunked_head() + chunk(b"start"))
        here += 1
        if here == 300:
            all_here.set()
        await all_here.wait()
        await connection.send(chunk(b"end") + LAST_CHUNK)

    async with Loopback(script) as server:
        bodies = await asyncio.gather(*(ask(transport, server.url) for _ in range(300)))
        assert set(bodies) == {b"startend"}
        assert server.accepted == 300


async def test_close_mid_stream_is_seen_by_the_server_and_spoils_nothing(transport: Transport) -> None:
    gone = asyncio.Event()

    async def script(connection: Connection) -> None:
        while True:
            request = await connection.receive()
            if request.target == "/long":
                await connection.send(chunked_head() + chunk(b"x"))
                await connection.gone()
                gone.set()
                return
            await connection.send(answer())

    async with Loopback(script) as server:
        assert await ask(transport, server.url) == b"ok"
        exchange = await post(transport, f"{server.url}/long")
        assert await anext(exchange.chunks()) == b"x"
        exchange.close()
        exchange.close()
        await asyncio.wait_for(gone.wait(), 1)
        with pytest.raises(TransportFault) as caught:
            await anext(exchange.chunks())
        assert caught.value.fault is Fault.CLOSED_HERE
        assert await ask(transport, server.url) == b"ok"
        assert server.accepted == 2


async def test_close_wakes_the_one_who_is_reading(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head())
        await connection.gone()

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        reading = asyncio.ensure_future(anext(exchange.chunks()))
        await asyncio.sleep(0)
        exchange.close()
        with pytest.raises(TransportFault):
            await reading


async def test_the_reading_of_a_stream_pauses_for_a_slow_caller(transport: Transport) -> None:
    sent = 0

    async def script(connection: Connection) -> None:
        nonlocal sent
        await connection.receive()
        await connection.send(chunked_head())
        for _ in range(4_000):
            await connection.send(chunk(bytes(10_000)))
            sent += 10_000
        await connection.send(LAST_CHUNK)

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        await asyncio.sleep(0.3)  # real: whatever would flow without a reader, flows
        assert sent < 15_000_000, "kernel buffers and ours, not the whole answer"
        size = 0
        async for part in exchange.chunks():
            size += len(part)
        assert size == 40_000_000


async def test_a_transport_that_is_closed_says_so(transport: Transport) -> None:
    await transport.close()
    with pytest.raises(TransportFault) as caught:
        await post(transport, "http://127.0.0.1:1")
    assert caught.value.fault is Fault.CLOSED_HERE


async def test_closing_the_transport_cuts_what_runs() -> None:
    transport = Transport(FakeClock())
    gone = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head())
        await connection.gone()
        gone.set()

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        reading = asyncio.ensure_future(exchange.read_all(10))
        await asyncio.sleep(0)
        await transport.close()
        await asyncio.wait_for(gone.wait(), 1)
        with pytest.raises(TransportFault) as caught:
            await asyncio.wait_for(reading, 1)
        assert caught.value.fault is Fault.CLOSED_HERE


async def test_closing_the_transport_ends_a_call_that_waits_for_its_head() -> None:
    transport = Transport(FakeClock())
    received = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        received.set()
        await connection.gone()

    async with Loopback(script) as server:
        call = asyncio.ensure_future(post(transport, server.url))
        await received.wait()
        await transport.close()
        with pytest.raises(TransportFault) as caught:
            await asyncio.wait_for(call, 1)
        assert caught.value.fault is Fault.CLOSED_HERE


async def test_an_answer_that_is_over_is_not_kept_alive_by_its_connection(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        while True:
            await connection.receive()
            await connection.send(answer())

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        assert await exchange.read_all(10) == b"ok"
        over = weakref.ref(exchange)
        del exchange
        gc.collect()
        assert over() is None
        assert await ask(transport, server.url) == b"ok"
        assert server.accepted == 1
