"""The road to a provider: what goes out and what comes back."""

from __future__ import annotations

import asyncio

import pytest

from providers.faults import Fault, TransportFault
from providers.transport import Transport
from scheduling.clock import FakeClock

from .callers import SECRET, ask, post
from .loopback import LAST_CHUNK, Connection, Loopback, answer, chunk, chunked_head


async def test_the_request_arrives_as_it_was_given() -> None:
    received = []

    async def script(connection: Connection) -> None:
        received.append(await connection.receive())
        await connection.send(answer(b'{"a":1}', headers=("X-Request-Id: 7",)))

    async with Loopback(script) as server:
        transport = Transport(FakeClock())
        exchange = await post(transport, f"{server.url}/v1/chat", b'{"model":"m"}')
        assert await exchange.read_all(100) == b'{"a":1}'
        await transport.close()
    request = received[0]
    assert request.head.startswith(b"POST /v1/chat HTTP/1.1\r\n")
    assert request.body == b'{"model":"m"}'
    assert request.header("authorization") == f"Bearer {SECRET}"
    assert request.header("content-type") == "application/json"
    assert request.header("accept-encoding") == "identity"
    assert exchange.status == 200
    assert exchange.headers["x-request-id"] == "7"


@pytest.mark.parametrize(
    "target", ["/models/a%2Fb", "/v1/a%3Ab%20c", "/x?key=a%2Bb&q=%ED%95%9C", "/a//b", "/v1/m:stream?alt=sse"]
)
async def test_an_encoded_path_is_sent_untouched(transport: Transport, target: str) -> None:
    async def script(connection: Connection) -> None:
        await connection.send(answer((await connection.receive()).target.encode()))

    async with Loopback(script) as server:
        assert await ask(transport, server.url + target) == target.encode()


async def test_a_cookie_is_never_sent_back(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        while True:
            cookie = (await connection.receive()).header("cookie")
            await connection.send(answer(repr(cookie).encode(), headers=("Set-Cookie: a=1; Path=/",)))

    async with Loopback(script) as server:
        assert await ask(transport, server.url) == b"None"
        assert await ask(transport, server.url) == b"None"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_an_answer_and_is_not_followed(transport: Transport, status: str) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer(status=status, headers=("Location: /elsewhere",)))
        await connection.gone()

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        assert exchange.status == int(status[:3])
        assert exchange.headers["location"] == "/elsewhere"
        exchange.close()
        assert server.accepted == 1


async def test_environment_proxies_are_not_used(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer())

    async with Loopback(script) as server:
        assert await ask(transport, server.url) == b"ok"


async def test_each_read_is_one_chunk_and_what_is_there_is_joined(transport: Transport) -> None:
    taken = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head() + chunk(b"one ") + chunk(b"two "))
        await taken.wait()
        await connection.send(chunk(b"three") + LAST_CHUNK)

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        chunks = exchange.chunks()
        assert await anext(chunks) == b"one two "
        taken.set()
        assert await anext(chunks) == b"three"
        with pytest.raises(StopAsyncIteration):
            await anext(chunks)
        with pytest.raises(StopAsyncIteration):
            await anext(chunks)


async def test_an_answer_larger_than_allowed_is_cut(transport: Transport) -> None:
    gone = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head() + chunk(b"x" * 2000))
        await connection.gone()
        gone.set()

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        with pytest.raises(TransportFault) as caught:
            await exchange.read_all(1000)
        assert caught.value.fault is Fault.ANSWER_TOO_LARGE
        await asyncio.wait_for(gone.wait(), 1)


async def test_header_lines_of_thirty_kilobytes_arrive(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer(headers=("X-Long: " + "v" * 30_000,)))

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        assert exchange.headers["x-long"] == "v" * 30_000
        exchange.close()


async def test_a_body_of_many_megabytes_goes_out_whole(transport: Transport) -> None:
    body = bytes(range(256)) * 20_000

    async def script(connection: Connection) -> None:
        request = await connection.receive()
        await connection.send(answer(str(request.body == body).encode()))

    async with Loopback(script) as server:
        assert await ask(transport, server.url, body) == b"True"


async def test_an_answer_without_a_body_ends_at_once(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        while True:
            await connection.receive()
            await connection.send(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with Loopback(script) as server:
        assert await ask(transport, server.url) == b""
        assert await ask(transport, server.url) == b""
        assert server.accepted == 1


async def test_an_answer_of_unknown_length_ends_with_its_connection(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(b"HTTP/1.1 200 OK\r\n\r\ndata: x\n\n")

    async with Loopback(script) as server:
        assert await ask(transport, server.url) == b"data: x\n\n"


async def test_an_interim_answer_is_passed_over(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer(b"real"))

    async with Loopback(script) as server:
        assert await ask(transport, server.url) == b"real"
