"""Each call is settled once: a thousand in a row, hundreds at once, at a stop, and after a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import aiohttp
import httpx
import pytest

from tests.acceptance.calls import Answered, Ask, open_client, send, send_one
from tests.acceptance.conftest import Serve
from tests.acceptance.console import Console
from tests.acceptance.leaving import Caller
from tests.acceptance.live import (
    open_files,
    provider_in,
    server_pid,
    tcp_inodes,
    thread_count,
    wait_until_empty,
    wait_until_in_force,
)
from tests.acceptance.served import ServedOptions, ServedRelay, served_relay
from tests.acceptance.upstream import Upstream
from tests.acceptance.waiting import wait_until, wait_until_quiet

pytestmark = pytest.mark.served

SERVERS = ["daphne", "uvicorn"]
WIDE = 320  # lanes, and places in the whole relay: these tests raise them
COMPLETIONS, AT_ONCE, COMPLETED_WITHIN_S = 1000, 16, 15.0
STREAMS = 300
SLOW_STREAM = "ttft_ms=1500;tokens_per_s=5;answer_tokens=10"  # about three seconds
SAMPLES = 25
OWN_POOL = 4  # threads that the process keeps for reading its configuration and writing its books


@dataclass(frozen=True)
class Site:
    """A relay with wide lanes, and what its tests look at."""

    relay: ServedRelay
    upstream: Upstream
    console: Console


@pytest.fixture(scope="module", params=SERVERS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("relay") / "data"
    with served_relay(folder, ServedOptions(request.param)) as relay, Console(relay) as console:
        console.widen(WIDE)
        wait_until_in_force(relay, lambda picture: (provider_in(picture, "simulator") or {})["limit"] == WIDE)
        upstream = Upstream(relay.simulator_url)
        yield Site(relay, upstream, console)
        upstream.close()


@pytest.fixture(autouse=True)
def _forget(request: pytest.FixtureRequest) -> None:
    if "site" in request.fixturenames:
        request.getfixturevalue("site").upstream.reset()


async def test_a_thousand_completions_are_a_thousand_settled_rows_and_no_caller_is_taken_for_gone(site: Site) -> None:
    asks = [Ask(stream=number % 2 == 0) for number in range(COMPLETIONS)]
    began = time.monotonic()
    answers = await send_over(site.relay, asks, AT_ONCE)
    took_s = time.monotonic() - began
    assert {answered.status for answered in answers} == {200}
    assert all(answered.word in answered.text for answered in answers)
    wait_until_quiet(lambda: site.console.count_rows())
    words = [ask.word for ask in asks]
    assert site.console.count_rows(client__in=words) == COMPLETIONS
    assert site.console.count_rows(client__in=words, outcome="completed", measured="measured") == COMPLETIONS
    assert site.console.count_rows(outcome="client_gone") == 0
    assert took_s < COMPLETED_WITHIN_S
    wait_until_empty(site.relay)


async def send_over(relay: ServedRelay, asks: list[Ask], connections: int) -> list[Answered]:
    """All of them over so many kept-open connections, each with one call after the other."""
    waiting = iter(asks)
    answers: list[Answered] = []

    async def one_by_one(client: aiohttp.ClientSession) -> None:
        for ask in waiting:
            answers.append(await send(client, relay, ask))

    async with open_client() as client:
        await asyncio.gather(*(one_by_one(client) for _ in range(connections)))
    return answers


async def test_three_hundred_streams_at_once_need_no_thread_and_no_database_connection(site: Site) -> None:
    pid = server_pid(site.relay)
    await send_one(site.relay, Ask())
    wait_until_empty(site.relay)
    threads, files = await least(lambda: thread_count(pid)), await least(lambda: files_but_tcp(pid))
    site.upstream.set_scene(SLOW_STREAM, times=None)
    async with open_client() as client:
        asks = [Ask(stream=True) for _ in range(STREAMS)]
        streams = [asyncio.create_task(send(client, site.relay, ask)) for ask in asks]
        while await asyncio.to_thread(lambda: site.upstream.inflight) < STREAMS:
            assert not any(stream.done() for stream in streams), "not all at once"
        # A thread of the process's own pool may have been added meanwhile; three hundred must not be.
        assert await least(lambda: thread_count(pid)) <= threads + OWN_POOL
        assert await least(lambda: files_but_tcp(pid)) <= files
        answers = await asyncio.gather(*streams)
    assert all(answered.word in answered.text and answered.events[-1] == "[DONE]" for answered in answers)
    assert site.upstream.report()["peak_inflight"] == STREAMS
    wait_until_empty(site.relay)


def files_but_tcp(pid: int) -> int:
    """Open descriptors other than the callers' and upstreams' connections: files, and sockets to databases."""
    tcp = tcp_inodes()
    return sum(file not in tcp for file in open_files(pid))


async def least(read: Callable[[], int]) -> int:
    """Of several readings: what is only there for a moment (a look at the configuration's version) does not count."""
    readings = []
    for _ in range(SAMPLES):
        readings.append(read())
        await asyncio.sleep(0.02)
    return min(readings)


# --- the end of a process


@pytest.mark.parametrize("server", ["daphne", pytest.param("uvicorn", marks=pytest.mark.slow)])
async def test_a_stream_that_runs_at_sigterm_ends_whole_and_new_calls_are_refused(serve: Serve, server: str) -> None:
    with serve(server) as relay:
        upstream = Upstream(relay.simulator_url)
        upstream.set_scene("tokens_per_s=10;answer_tokens=30")
        ask = Ask(stream=True)
        running = asyncio.create_task(send_one(relay, ask))
        await asyncio.to_thread(upstream.arrival, ask.word)
        upstream.close()
        await asyncio.sleep(0.5)  # into the middle of its three seconds
        relay.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(relay.output.wait_for, "Stopping", 5)
        await assert_refused(relay)
        answered = await running
        assert (answered.told, answered.broken, answered.events[-1]) == (None, "", "[DONE]")
        assert answered.word in answered.text
        assert await asyncio.to_thread(relay.process.wait, 20) == 0
        assert last_outcomes(relay) == ["completed"]


async def assert_refused(relay: ServedRelay) -> None:
    """Within a moment of the signal, and then for good."""
    for _ in range(50):
        try:
            answered = await send_one(relay, Ask())
        except aiohttp.ClientConnectionError:
            return
        if answered.status == 503:
            assert answered.error["code"] == "relay_draining"
            return
        await asyncio.sleep(0.02)
    raise AssertionError("new calls are still taken")


def last_outcomes(relay: ServedRelay) -> list[str]:
    """Of the rows of streams, read when the relay is down."""
    rows = "UsageRow.objects.filter(stream=True).values_list('outcome', flat=True)"
    return relay.shell(f"from accounts.models import UsageRow; print(*{rows})").split()


def test_a_call_whose_process_was_killed_leaves_one_row_and_no_lane_when_it_is_back(site: Site) -> None:
    site.upstream.set_scene("tokens_per_s=10;answer_tokens=400")
    ask, killed = Ask(stream=True), server_pid(site.relay)
    with Caller(site.relay, ask) as caller:
        caller.read_until(b"words:")
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: site.upstream.arrival(ask.word)["outcome"] == "aborted_by_client", 1, "end at the upstream")
    wait_until(lambda: is_back(site.relay, killed), 15, "new server process")
    row = site.console.row_of(ask.word)
    assert (row["outcome"], row["provider"], row["model"]) == ("relay_lost", "simulator", "sim-small")
    assert site.console.count_rows(client=ask.word) == 1
    wait_until_empty(site.relay)
    assert asyncio.run(send_one(site.relay, Ask())).status == 200


def is_back(relay: ServedRelay, killed: int) -> bool:
    pids = [pid for pid in relay.pids(named="-m relay_project.server") if pid != killed]
    return bool(pids) and answers(f"{relay.base_url}/healthz")


def answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=5).status_code == 200
    except httpx.TransportError:
        return False
