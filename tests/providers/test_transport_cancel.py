"""Cancelled at any point, a call leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from providers.contract import Deadlines
from providers.transport import Transport

from .callers import post
from .loopback import LAST_CHUNK, Connection, Loopback, chunk, chunked_head


async def test_cancelled_while_connecting_nothing_stays(transport: Transport) -> None:
    accepted, gone = asyncio.Event(), asyncio.Event()

    async def script(connection: Connection) -> None:
        accepted.set()
        await connection.gone()
        gone.set()

    async with Loopback(script) as server:
        call = asyncio.ensure_future(post(transport, f"https://127.0.0.1:{server.port}"))
        await accepted.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(gone.wait(), 1)


async def test_cancelled_while_waiting_for_the_head_the_server_sees_it(transport: Transport) -> None:
    received, gone = asyncio.Event(), asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        received.set()
        await connection.gone()
        gone.set()

    async with Loopback(script) as server:
        call = asyncio.ensure_future(post(transport, server.url))
        await received.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(gone.wait(), 1)


async def test_cancelled_while_uploading_to_a_deaf_server_the_socket_is_cut(transport: Transport) -> None:
    gone = asyncio.Event()

    async def script(connection: Connection) -> None:
        await asyncio.sleep(0.1)  # real: deaf for a while
        await connection.gone()
        gone.set()

    async with Loopback(script) as server:
        call = asyncio.ensure_future(
            transport.post(server.url, headers=(), body=bytes(30_000_000), deadlines=Deadlines())
        )
        await asyncio.sleep(0.05)  # real: the upload fills the buffers
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(gone.wait(), 1)


async def test_a_cancelled_read_can_be_taken_up_again(transport: Transport) -> None:
    go_on = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head())
        await go_on.wait()
        await connection.send(chunk(b"rest") + LAST_CHUNK)

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        reading = asyncio.ensure_future(anext(exchange.chunks()))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        go_on.set()
        assert await exchange.read_all(10) == b"rest"
