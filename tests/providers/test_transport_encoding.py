"""A compressed answer, though none was asked for, is read plain or refused clearly."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable

import pytest

from providers.faults import Fault, TransportFault
from providers.transport import Transport

from .callers import ask, post
from .loopback import LAST_CHUNK, Connection, Loopback, answer, chunk, chunked_head


def _gzip_of_two_files(body: bytes) -> bytes:
    half = len(body) // 2
    return gzip.compress(body[:half], mtime=0) + gzip.compress(body[half:], mtime=0)


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, _gzip_of_two_files])
async def test_a_compressed_answer_is_read_plain_and_its_header_dropped(
    transport: Transport, compress: Callable[[bytes], bytes]
) -> None:
    plain = b"data: hello\n\n" * 40_000
    packed = compress(plain)

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(
            f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
        )
        for start in range(0, len(packed), 11):
            await connection.send(packed[start : start + 11])
        await connection.gone()

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        assert "content-encoding" not in exchange.headers
        assert "content-length" not in exchange.headers
        assert await exchange.read_all(len(plain)) == plain


async def test_a_compressed_stream_is_read_as_it_comes(transport: Transport) -> None:
    more = asyncio.Event()
    packer = zlib.compressobj(wbits=31)

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head("Content-Encoding: gzip"))
        await connection.send(chunk(packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH)))
        await more.wait()
        await connection.send(chunk(packer.compress(b"data: 2\n\n") + packer.flush()) + LAST_CHUNK)

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        assert await anext(exchange.chunks()) == b"data: 1\n\n"
        more.set()
        assert await exchange.read_all(100) == b"data: 2\n\n"


async def test_a_small_answer_cannot_unfold_into_a_large_one_at_once(transport: Transport) -> None:
    packed = gzip.compress(bytes(50_000_000))

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer(packed, headers=("Content-Encoding: gzip",)))

    async with Loopback(script) as server:
        exchange = await post(transport, server.url)
        assert len(await anext(exchange.chunks())) <= 256 * 1024
        with pytest.raises(TransportFault):
            await exchange.read_all(1_000_000)


@pytest.mark.parametrize(
    ("encoding", "body", "fault"),
    [
        ("br", b"anything", Fault.UNKNOWN_ENCODING),
        ("gzip", b"not gzip at all", Fault.BROKEN_BODY),
        ("gzip", gzip.compress(b"hello" * 100, mtime=0)[:-12], Fault.BROKEN_BODY),
    ],
)
async def test_what_cannot_be_unpacked_is_a_clear_fault(
    transport: Transport, encoding: str, body: bytes, fault: Fault
) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(answer(body, headers=(f"Content-Encoding: {encoding}",)))

    async with Loopback(script) as server:
        with pytest.raises(TransportFault) as caught:
            await ask(transport, server.url)
        assert caught.value.fault is fault
