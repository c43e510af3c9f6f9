"""A small ASGI application to try the servers with, and real server processes that run it.

What the application sees goes to the file named by `TINY_APP_LOG`, one JSON object a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

SERVERS = ("daphne", "uvicorn")


def note(event: str, **facts: object) -> None:
    with Path(os.environ["TINY_APP_LOG"]).open("a") as log:
        log.write(json.dumps({"event": event, "at": time.monotonic(), **facts}) + "\n")


class TinyApplication:
    """`/echo` tells the size of the body; `/stream?parts=&size=&every_s=` streams; `/settle?s=` works on after the
    client has left; `/fail` raises; a WebSocket says hello and waits."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await self._web_socket(receive, send)
        else:
            query = {name: float(values[0]) for name, values in parse_qs(scope["query_string"].decode()).items()}
            await getattr(self, scope["path"].strip("/"))(query, scope, receive, send)

    async def drain(self) -> None:
        note("drain")

    async def _lifespan(self, receive: Any, send: Any) -> None:
        for phase in ("startup", "shutdown"):
            await receive()
            note(phase)
            failed = os.environ.get("TINY_APP_FAILS") == phase
            message = {"type": f"lifespan.{phase}.failed", "message": "no store"} if failed else {}
            await send({"type": f"lifespan.{phase}.complete"} | message)

    async def _web_socket(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "hello"})
        while (message := await receive())["type"] != "websocket.disconnect":
            pass
        note("websocket.disconnect", code=message["code"])

    async def echo(self, query: Any, scope: Any, receive: Any, send: Any) -> None:
        note("echo")
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                note("disconnect")
                return
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await _answer(send, f"{size} {scope['root_path']}".encode())

    async def stream(self, query: Any, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        leaving = asyncio.create_task(_note_disconnect(receive))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        part = b"x" * int(query.get("size", 10))
        try:
            for number in range(int(query["parts"])):
                await send({"type": "http.response.body", "body": part, "more_body": True})
                note("sent", number=number)
                await asyncio.sleep(query.get("every_s", 0))
            leaving.cancel()
            await send({"type": "http.response.body", "body": b"end"})
            note("end")
        except asyncio.CancelledError:
            note("cancelled")
            raise

    async def settle(self, query: Any, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        note("working")
        await _note_disconnect(receive)
        await asyncio.sleep(query["s"])
        note("settled")

    async def fail(self, query: Any, scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("a bug")


async def _note_disconnect(receive: Any) -> None:
    if (await receive())["type"] == "http.disconnect":
        note("disconnect")


async def _answer(send: Any, body: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


application = TinyApplication()


@dataclass
class Launched:
    """A server process that runs the tiny application."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def get(self, path: str, receive_buffer: int = 0) -> socket.socket:
        """A connection on which a GET has been sent; `receive_buffer` bounds what its kernel takes unread."""
        connection = socket.socket()
        connection.settimeout(20)
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: relay\r\n\r\n".encode())
        return connection

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def wait_for(self, name: str, *, within_s: float = 10, count: int = 1) -> dict[str, Any]:
        """The `count`-th event of that name; fails when it does not come in time."""
        end = time.monotonic() + within_s
        while len(events := self.events(name)) < count:
            assert time.monotonic() < end, f"no {name!r} within {within_s} s"
            time.sleep(0.02)
        return events[count - 1]

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def memory_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def launched(server: str, folder: Path, **environment: str) -> Iterator[Launched]:
    """Start `python -m relay_project.server` with the tiny application; kills it at the end if it still runs."""
    port = _free_port()
    read_fd, write_fd = os.pipe()
    command = [sys.executable, "-m", "relay_project.server", "--server", server, "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--application", f"{__name__}:application"],
        env=os.environ | {"TINY_APP_LOG": str(folder / "app.log"), "RELAY_READY_FD": str(write_fd)} | environment,
        pass_fds=(write_fd,),
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write_fd)
    try:
        with os.fdopen(read_fd) as ready:
            ready.readline()
        yield Launched(process, port, folder / "app.log")
    finally:
        process.kill()
        process.communicate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)
