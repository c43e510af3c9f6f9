"""A server of raw bytes on loopback, so that a test can say exactly what goes over the wire."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True)
class Received:
    head: bytes
    body: bytes

    @property
    def target(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    def header(self, name: str) -> str | None:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b": ")
            if key.lower() == name.encode():
                return value.decode()
        return None


class Connection:
    """One accepted connection, in the hands of a test's script."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> Received:
        head = await self._reader.readuntil(b"\r\n\r\n")
        received = Received(head, b"")
        length = int(received.header("content-length") or 0)
        return Received(head, await self._reader.readexactly(length))

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def gone(self) -> None:
        """Return when the other side has closed."""
        try:
            while await self._reader.read(65536):
                pass
        except ConnectionError:
            pass

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Script = Callable[[Connection], Awaitable[None]]


class Loopback:
    """`async with Loopback(script) as server`: `script` runs once for each accepted connection."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.accepted = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Loopback:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, ssl=self._tls, backlog=1024, limit=2**20
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._script(Connection(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the other side has gone, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()


def answer(body: bytes = b"ok", *, status: str = "200 OK", headers: tuple[str, ...] = ()) -> bytes:
    """A whole answer with a known length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked_head(*headers: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


async def hang_up(connection: Connection) -> None:
    await connection.receive()


async def reset(connection: Connection) -> None:
    await connection.receive()
    connection.reset()


async def half_a_head(connection: Connection) -> None:
    await connection.receive()
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Le")
