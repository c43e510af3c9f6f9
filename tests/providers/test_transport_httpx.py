"""httpx over the same connections: its API, its exceptions, none of its cookies."""

from __future__ import annotations

import asyncio
import gzip

import httpx
import pytest

from providers.faults import Fault, TransportFault, read_fault
from providers.transport import Transport
from scheduling.clock import FakeClock

from .loopback import LAST_CHUNK, Connection, Loopback, answer, chunk, chunked_head


async def test_a_model_list_is_read(transport: Transport) -> None:
    received = []

    async def script(connection: Connection) -> None:
        while True:
            received.append(await connection.receive())
            await connection.send(
                answer(b'{"data": []}', headers=("Content-Type: application/json", "Set-Cookie: a=1"))
            )

    async with Loopback(script) as server, transport.cold_client() as client:
        for _ in range(2):
            response = await client.get(f"{server.url}/v1/a%2Fb", headers={"Authorization": "Bearer k"})
            assert response.json() == {"data": []}
    assert [request.target for request in received] == ["/v1/a%2Fb"] * 2
    assert received[1].header("cookie") is None
    assert received[0].header("authorization") == "Bearer k"
    assert received[0].header("accept-encoding") == "identity"
    assert server.accepted == 1


async def test_a_post_carries_its_body_once(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        request = await connection.receive()
        assert request.head.lower().count(b"content-length") == 1
        await connection.send(answer(request.body))

    async with Loopback(script) as server, transport.cold_client() as client:
        assert (await client.post(server.url, json={"a": 1})).json() == {"a": 1}


async def test_a_redirect_is_not_followed(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer(status="302 Found", headers=("Location: /x",)))

    async with Loopback(script) as server, transport.cold_client() as client:
        assert (await client.get(server.url)).status_code == 302


async def test_a_compressed_answer_is_unpacked_once(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer(gzip.compress(b"plain"), headers=("Content-Encoding: gzip",)))

    async with Loopback(script) as server, transport.cold_client() as client:
        assert (await client.get(server.url)).text == "plain"


async def test_a_stream_left_early_is_cut(transport: Transport) -> None:
    gone = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head() + chunk(b"one"))
        await connection.gone()
        gone.set()

    async with Loopback(script) as server, transport.cold_client() as client:
        async with client.stream("GET", server.url) as response:
            assert await anext(response.aiter_raw()) == b"one"
        await asyncio.wait_for(gone.wait(), 1)


async def test_a_fault_is_httpxs_own_exception_and_its_cause_is_ours(transport: Transport) -> None:
    async with transport.cold_client() as client:
        with pytest.raises(httpx.ConnectError) as caught:
            await client.get("http://nowhere.invalid/?key=sk-secret")
    assert isinstance(caught.value.__cause__, TransportFault)
    assert read_fault(caught.value) is Fault.DNS
    assert "sk-secret" not in str(caught.value)


async def test_a_body_that_breaks_off_is_httpxs_own_exception(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")

    async with Loopback(script) as server, transport.cold_client() as client:
        with pytest.raises(httpx.RemoteProtocolError) as caught:
            await client.get(server.url)
    assert read_fault(caught.value) is Fault.BROKEN_BODY


async def test_httpxs_timeouts_run_on_our_clock(transport: Transport, clock: FakeClock) -> None:
    received = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        received.set()
        await connection.gone()

    async with Loopback(script) as server, transport.cold_client() as client:
        call = asyncio.ensure_future(client.get(server.url, timeout=httpx.Timeout(connect=5, read=20, write=5, pool=5)))
        await received.wait()
        await clock.advance(19)
        assert not call.done()
        await clock.advance(1)
        with pytest.raises(httpx.ReadTimeout):
            await call


async def test_a_closed_client_leaves_the_transport_open(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        while True:
            await connection.receive()
            await connection.send(chunked_head() + chunk(b"x") + LAST_CHUNK)

    async with Loopback(script) as server:
        for _ in range(2):
            async with transport.cold_client() as client:
                assert (await client.get(server.url)).content == b"x"
        assert server.accepted == 1
