"""The load tool and the upstream, with each other."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from bench.load import request_bytes, run
from bench.plan import Entrance, Errand, Heard, Load
from bench.processes import Cores, cpu_us, pick_cores, read_cpu_ticks
from bench.scheduler import verb_costs_us
from bench.upstream import Upstream, event


@pytest.fixture
async def entrance() -> AsyncIterator[Entrance]:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0)
    async with server:
        yield Entrance(server.sockets[0].getsockname()[1], "bench")


async def test_callers_hear_whole_answers(entrance: Entrance) -> None:
    heard = await run(Errand(entrance, Load(3), seconds=0.05))
    assert heard.answers >= 3
    assert heard.failed == 0
    assert 0 < heard.whole.p50_us <= heard.whole.p99_us
    assert heard.first_token is heard.chunk_delay is None


async def test_callers_hear_every_chunk_of_a_stream_and_how_long_it_was_on_its_way(entrance: Entrance) -> None:
    heard = await run(Errand(entrance, Load(2, stream=True, chunks=5, every_ms=1), seconds=0.01))
    assert heard.chunks == 5 * heard.answers > 0
    assert heard.first_token is not None
    assert heard.chunk_delay is not None
    assert 0 < heard.chunk_delay.p50_us < 1_000_000


class Refusing(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.write(b"HTTP/1.1 429 Too Many\r\ncontent-length: 4\r\n\r\nfull")


class HangingUp(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


async def heard_of(server_side: type[asyncio.Protocol]) -> Heard:
    async with await asyncio.get_running_loop().create_server(server_side, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        return await run(Errand(Entrance(port, "bench"), Load(2), seconds=0.0001))


async def test_a_refusal_counts_as_a_failure_and_is_told() -> None:
    heard = await heard_of(Refusing)
    assert (heard.answers, heard.failed, heard.failure) == (0, 2, "429 full")


async def test_a_connection_that_breaks_counts_as_a_failure() -> None:
    heard = await heard_of(HangingUp)
    assert (heard.answers, heard.failed) == (0, 2)
    assert "lost" in heard.failure


def test_a_request_is_whole_and_carries_the_variants_headers() -> None:
    entrance = Entrance(1234, "fast", "/v1/x", {"authorization": "Bearer rk-1"})
    head, _, body = request_bytes(entrance, Load(1, stream=True, chunks=7, every_ms=20)).partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/x HTTP/1.1\r\n")
    assert b"authorization: Bearer rk-1" in head
    assert f"content-length: {len(body)}".encode() in head
    assert json.loads(body) | {"messages": 0} == {
        "model": "fast", "messages": 0, "temperature": 0.7, "stream": True, "max_tokens": 7, "seed": 20,
    }  # fmt: skip


def test_an_event_is_one_chunk_of_the_chunked_coding() -> None:
    size, _, rest = event(b"abc").partition(b"\r\n")
    assert rest == b"data: abc\n\n\r\n"
    assert int(size, 16) == len(rest) - 2


def test_an_errand_travels_as_json() -> None:
    errand = Errand(Entrance(1, "m", headers={"a": "b"}), Load(64, stream=True, chunks=2, every_ms=3), 1.5)
    assert msgspec.json.decode(msgspec.json.encode(errand), type=Errand) == errand


def test_processor_time_is_read_whatever_the_command_is_called() -> None:
    fields = " ".join(map(str, range(4, 50)))
    assert read_cpu_ticks(f"17 (a ) (b) c) S {fields}") == 14 + 15
    assert cpu_us(os.getpid()) >= 0
    assert read_cpu_ticks(Path("/proc/self/stat").read_text()) >= 0


def test_server_and_callers_get_cores_of_their_own_where_there_are_two() -> None:
    assert pick_cores([0, 1]) == Cores(server=0, callers=1)
    assert pick_cores([2, 5, 7]) == Cores(server=2, callers=7)
    assert pick_cores([3]) == Cores(server=None, callers=None)


def test_the_scheduler_is_measured_verb_by_verb() -> None:
    costs = verb_costs_us(waiting=40)
    assert set(costs) == {"release and start", "line up", "cancel"}
    assert all(us > 0 for us in costs.values())
