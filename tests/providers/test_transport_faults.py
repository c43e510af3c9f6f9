"""What goes wrong on the road is told as what it was, leaks nothing, and names no secret."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from providers.contract import Deadlines, RefusalKind
from providers.faults import Fault, TransportFault
from providers.transport import Transport

from .callers import SECRET, fault_of, post
from .loopback import Connection, Loopback, answer, chunk, chunked_head, half_a_head, hang_up, reset


def _unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_nobody_listening_is_refused(transport: Transport) -> None:
    url = f"http://127.0.0.1:{_unused_port()}"
    fault = await fault_of(transport, url)
    assert fault.fault is Fault.CONNECTION_REFUSED
    assert fault.refusal.kind is RefusalKind.SERVER_ERROR
    assert "ClientConnectorError" in fault.refusal.evidence
    assert url in fault.refusal.message


async def test_a_name_that_does_not_resolve_is_told_as_such(transport: Transport) -> None:
    fault = await fault_of(transport, "http://nowhere.invalid")
    assert fault.fault is Fault.DNS
    assert "ClientConnectorDNSError" in fault.refusal.evidence


@pytest.mark.parametrize(
    "url", ["http://", "ftp://127.0.0.1", "nonsense", "http://127.0.0.1:99999", "http://127.0.0.1/a b", "http://x/ü"]
)
async def test_an_address_that_is_none_is_told_as_such(transport: Transport, url: str) -> None:
    with pytest.raises(TransportFault) as caught:
        await transport.get(url, deadlines=Deadlines())
    assert caught.value.fault is Fault.INVALID_URL


async def test_a_key_with_a_line_break_cannot_be_sent_and_is_not_shown(transport: Transport) -> None:
    with pytest.raises(TransportFault) as caught:
        await transport.post(
            "http://127.0.0.1:1", headers={"x-api-key": f"{SECRET}\r\nx: y"}, body=b"", deadlines=Deadlines()
        )
    assert caught.value.fault in (Fault.UNSENDABLE, Fault.CONNECTION_REFUSED)
    assert SECRET not in str(caught.value.refusal)


async def test_a_header_that_http_forbids_is_unsendable(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.receive()

    async with Loopback(script) as server:
        with pytest.raises(TransportFault) as caught:
            await transport.post(server.url, headers={"x-api-key": "a\r\nb"}, body=b"", deadlines=Deadlines())
    assert caught.value.fault is Fault.UNSENDABLE


async def garbage(connection: Connection) -> None:
    await connection.receive()
    await connection.send(b"\x00\x01garbage, not HTTP\r\n\r\n")
    await connection.gone()


async def endless_line(connection: Connection) -> None:
    await connection.receive()
    await connection.send(b"HTTP/1.1 200 OK\r\nX-Long: " + b"v" * 100_000 + b"\r\n\r\n")
    await connection.gone()


async def short_body(connection: Connection) -> None:
    await connection.receive()
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")


async def cut_chunks(connection: Connection) -> None:
    await connection.receive()
    await connection.send(chunked_head() + chunk(b"data: x\n\n"))


async def bad_chunk_size(connection: Connection) -> None:
    await connection.receive()
    await connection.send(chunked_head() + chunk(b"data: x\n\n"))
    await asyncio.sleep(0.02)  # real: with the head in the same read, the whole answer is not HTTP
    await connection.send(b"zz\r\nnonsense\r\n")
    await connection.gone()


async def reset_mid_body(connection: Connection) -> None:
    await connection.receive()
    await connection.send(chunked_head() + chunk(b"data: x\n\n"))
    await asyncio.sleep(0.02)  # real: the chunk is to arrive before the reset
    connection.reset()


async def answer_to_nobody_knows_what(connection: Connection) -> None:
    await connection.receive()
    await connection.send(answer(headers=("Content-Encoding: br",)))


FAULTS: list[tuple[Callable[[Connection], Awaitable[None]], Fault, str]] = [
    (hang_up, Fault.DISCONNECTED, "ServerDisconnectedError"),
    (reset, Fault.RESET, "ClientOSError"),
    (garbage, Fault.GARBLED, "ClientResponseError"),
    (half_a_head, Fault.DISCONNECTED, "ServerDisconnectedError"),
    (endless_line, Fault.LINE_TOO_LONG, "LineTooLong"),
    (short_body, Fault.BROKEN_BODY, "ContentLengthError"),
    (cut_chunks, Fault.BROKEN_BODY, "TransferEncodingError"),
    (bad_chunk_size, Fault.BROKEN_BODY, ""),
    (reset_mid_body, Fault.BROKEN_BODY, ""),
    (answer_to_nobody_knows_what, Fault.UNKNOWN_ENCODING, ""),
]


@pytest.mark.parametrize(("script", "fault", "evidence"), FAULTS, ids=[row[0].__name__ for row in FAULTS])
async def test_each_fault_has_its_name(
    transport: Transport, script: Callable[[Connection], Awaitable[None]], fault: Fault, evidence: str
) -> None:
    async with Loopback(script) as server:
        caught = await fault_of(transport, server.url)
    assert caught.fault is fault
    assert evidence in caught.refusal.evidence
    assert not caught.safe_to_resend, "a first call on a connection is never stale"


async def test_what_came_before_the_break_is_delivered(transport: Transport) -> None:
    for script in (cut_chunks, reset_mid_body):
        async with Loopback(script) as server:
            exchange = await post(transport, server.url)
            chunks = exchange.chunks()
            assert await anext(chunks) == b"data: x\n\n"
            with pytest.raises(TransportFault):
                await anext(chunks)


def _sockets() -> int:
    return sum(1 for fd in Path("/proc/self/fd").iterdir() if _is_socket(fd))


def _is_socket(fd: Path) -> bool:
    try:
        return str(fd.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False


async def test_twenty_faults_of_every_sort_leak_neither_socket_nor_task(transport: Transport) -> None:
    async with Loopback(hang_up) as server:
        await fault_of(transport, server.url)
    for _ in range(5):
        await asyncio.sleep(0.01)
    sockets, tasks = _sockets(), asyncio.all_tasks()
    for script, *_ in FAULTS * 2:
        async with Loopback(script) as server:
            await fault_of(transport, server.url)
    for _ in range(20):
        await asyncio.sleep(0.01)
        if _sockets() <= sockets and asyncio.all_tasks() == tasks:
            break
    gc.collect()  # anything unclosed warns here, and a warning is an error
    assert _sockets() <= sockets
    assert asyncio.all_tasks() == tasks
