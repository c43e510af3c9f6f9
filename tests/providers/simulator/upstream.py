"""A simulator on a real socket in the test's own loop, and a client that shows what came over the wire."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from providers.simulator.app import Simulator
from providers.simulator.options import Options
from providers.simulator.server import serving

KEY = "sk-test-key-0001"


@dataclass
class Wire:
    """Everything that one connection brought, read by read; `broken` = the exception that ended it."""

    reads: list[bytes] = field(default_factory=list)
    broken: Exception | None = None
    silent: bool = False  # still open and nothing more within the patience

    @property
    def bytes(self) -> bytes:
        return b"".join(self.reads)

    @property
    def status(self) -> int:
        return int(self.bytes.split(b" ", 2)[1])

    @property
    def head(self) -> bytes:
        return self.bytes.partition(b"\r\n\r\n")[0]

    @property
    def raw_body(self) -> bytes:
        return self.bytes.partition(b"\r\n\r\n")[2]

    @property
    def ended_properly(self) -> bool:
        return self.raw_body.endswith(b"0\r\n\r\n")

    @property
    def body(self) -> bytes:
        """The chunks of a chunked body, as far as they are whole."""
        body, rest = b"", self.raw_body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        return body

    @property
    def events(self) -> list[Any]:
        """Data of each event, decoded; `[DONE]` as it is."""
        lines = [line.removeprefix(b"data: ") for line in self.body.split(b"\n\n") if line.startswith(b"data: ")]
        return ["[DONE]" if line == b"[DONE]" else json.loads(line) for line in lines]


@dataclass
class Upstream:
    url: str
    simulator: Simulator

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def post(self, model: str = "sim-small", /, *, key: str | None = KEY, **fields: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with httpx.AsyncClient(timeout=5) as client:
            return await client.post(f"{self.url}/v1/chat/completions", json=chat(model, **fields), headers=headers)

    async def get(self, path: str) -> httpx.Response:
        async with httpx.AsyncClient(timeout=5) as client:
            return await client.get(f"{self.url}{path}", headers={"Authorization": f"Bearer {KEY}"})

    async def control(self, method: str, path: str, document: Any = None) -> Any:
        async with httpx.AsyncClient() as client:
            return (await client.request(method, f"{self.url}{path}", json=document)).json()

    async def wire(self, model: str = "sim-small", /, *, patience_s: float = 0.3, **fields: Any) -> Wire:
        """Send one request on a socket of its own and read until it ends, breaks or falls silent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(http_request(chat(model, **fields)))
        wire = Wire()
        try:
            while chunk := await asyncio.wait_for(reader.read(1 << 22), patience_s):
                wire.reads.append(chunk)
        except TimeoutError:
            wire.silent = True
        except ConnectionError as error:
            wire.broken = error
        finally:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        return wire

    @property
    def arrivals(self) -> list[dict[str, Any]]:
        return self.simulator.provider.journal.report()["arrivals"]

    async def ended(self, count: int = 1) -> list[dict[str, Any]]:
        """The arrivals, once `count` of them have ended."""
        for _ in range(1500):
            if sum(arrival["ended_at_us"] is not None for arrival in self.arrivals) >= count:
                return self.arrivals
            await asyncio.sleep(0.002)
        raise AssertionError(f"{count} requests should have ended: {self.arrivals}")


def chat(model: str = "sim-small", **fields: Any) -> dict[str, Any]:
    text = fields.pop("text", "say CODE-7 북경😀")
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


def http_request(document: Any, headers: str = "", path: str = "/v1/chat/completions") -> bytes:
    body = json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: sim\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@contextlib.asynccontextmanager
async def upstream_with(options: Options | None = None) -> AsyncIterator[Upstream]:
    simulator = Simulator(options)
    async with serving(simulator) as url:
        yield Upstream(url, simulator)
