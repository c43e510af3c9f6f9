"""The callers: `python -m bench.load ERRAND` (an `Errand` as JSON) prints what they `Heard`, as JSON.

Keep-alive connections without any client library: what is measured is the server. One event loop, no garbage
collection while it runs.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import sys
import time
from typing import Any

import httptools
import msgspec
import uvloop

from bench.figures import spread
from bench.plan import Entrance, Errand, Heard, Load, Spread

_SENT_NS = re.compile(rb"t=(\d+)")
_PROMPT = [
    {"role": "system", "content": "You are a helpful assistant. Answer briefly and precisely."},
    {"role": "user", "content": "Explain in two sentences what a relay does and why its latency matters to users."},
]


def request_bytes(entrance: Entrance, load: Load) -> bytes:
    fields = {"model": entrance.model, "messages": _PROMPT, "temperature": 0.7}
    if load.stream:
        fields |= {"stream": True, "max_tokens": load.chunks, "seed": load.every_ms}
    body = json.dumps(fields).encode()
    headers = {
        "host": f"127.0.0.1:{entrance.port}",
        "content-type": "application/json",
        "content-length": str(len(body)),
        "user-agent": "bench",
        **entrance.headers,
    }
    lines = [f"POST {entrance.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Notes:
    """What all callers write down. Times in nanoseconds."""

    def __init__(self, seconds: float) -> None:
        self.began_ns = time.monotonic_ns()
        self.until_ns = self.began_ns + round(seconds * 1e9)
        self.whole: list[int] = []
        self.first_token: list[int] = []
        self.chunk_delay: list[int] = []
        self.answers_in_time = self.chunks_in_time = 0
        self.failures: list[str] = []

    def heard(self) -> Heard:
        seconds = (self.until_ns - self.began_ns) / 1e9
        return Heard(
            answers=len(self.whole),
            answers_per_s=self.answers_in_time / seconds,
            chunks=len(self.chunk_delay),
            chunks_per_s=self.chunks_in_time / seconds,
            whole=_spread_us(self.whole) or Spread(0, 0),
            first_token=_spread_us(self.first_token),
            chunk_delay=_spread_us(self.chunk_delay),
            failed=len(self.failures),
            failure=next(iter(self.failures), ""),
        )


class Caller(asyncio.Protocol):
    """One connection: asks, reads to the end, asks again until the time is over."""

    def __init__(self, request: bytes, notes: Notes) -> None:
        self._request = request
        self._notes = notes
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body = b""
        self._first = True
        self._asked_ns = time.monotonic_ns()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._read_ns = time.monotonic_ns()
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        if self._parser.get_status_code() != 200:
            self._body += body
            return
        notes = self._notes
        for stamp in _SENT_NS.findall(body):
            notes.chunk_delay.append(self._read_ns - int(stamp))
            notes.chunks_in_time += self._read_ns <= notes.until_ns
            if self._first:
                self._first = False
                notes.first_token.append(self._read_ns - self._asked_ns)

    def on_message_complete(self) -> None:
        notes = self._notes
        if self._parser.get_status_code() == 200:
            notes.whole.append(self._read_ns - self._asked_ns)
            notes.answers_in_time += self._read_ns <= notes.until_ns
        else:
            notes.failures.append(f"{self._parser.get_status_code()} {self._body.decode(errors='replace')}")
        if self._read_ns < notes.until_ns:
            asyncio.get_running_loop().call_soon(self._ask)  # not from inside the parser
        else:
            self._leave()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self._notes.failures.append(f"the connection was lost: {error}")
            self.done.set_result(None)

    def _leave(self) -> None:
        self.done.set_result(None)
        self._transport.close()


async def run(errand: Errand) -> Heard:
    request = request_bytes(errand.entrance, errand.load)
    loop = asyncio.get_running_loop()
    notes = Notes(errand.seconds)
    callers = []
    for _ in range(errand.load.at_once):
        _transport, caller = await loop.create_connection(
            lambda: Caller(request, notes), "127.0.0.1", errand.entrance.port
        )
        callers.append(caller.done)
        # Streams that begin in step would send all their chunks in the same millisecond.
        await asyncio.sleep(errand.load.every_ms / 1000 / errand.load.at_once)
    await asyncio.gather(*callers)
    return notes.heard()


def _spread_us(times_ns: list[int]) -> Spread | None:
    return spread([time_ns / 1000 for time_ns in times_ns])


if __name__ == "__main__":
    gc.disable()
    told = msgspec.json.decode(sys.argv[1], type=Errand)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(msgspec.json.encode(runner.run(run(told))).decode())
