"""Callers that leave, upstreams that break: nothing stays held, and the books say what happened."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.calls import Answered, Ask, send_one, send_together
from tests.acceptance.console import Console
from tests.acceptance.leaving import Caller
from tests.acceptance.live import (
    open_files,
    provider_in,
    queue_of,
    server_pid,
    wait_until_empty,
    wait_until_in_force,
)
from tests.acceptance.served import ServedOptions, ServedRelay, served_relay
from tests.acceptance.upstream import Upstream
from tests.acceptance.waiting import wait_until

pytestmark = pytest.mark.served

MOMENT_S = 1.0  # within which the upstream must see the close, and the lane be free
PER_MODEL = 2  # of the demo's simulator
BRIEF = "sim-brief"  # a model whose calls may run for a second
LEAVINGS = ("FIN", "RST")

MUCH = "%20".join(["x" * 8000] * 1500)  # 12 MB in 1,500 words: far more than fits on the way

# Where the call stands when its caller leaves: how the upstream behaves, what the caller has read by then.
CUT = {
    "before the headers": ("fault=slow_first_byte(20000)", True, b""),
    "before a whole answer": ("fault=slow_first_byte(20000)", False, b""),
    "before the first token": ("fault=slow_first_token(20000)", True, b""),
    "in mid-stream": ("tokens_per_s=20;answer_tokens=400", True, b"words:"),
    "while it reads nothing": (f"text={MUCH}", True, b"xxxx"),
}


@dataclass(frozen=True)
class Site:
    """A relay with what its tests look at."""

    relay: ServedRelay
    upstream: Upstream
    console: Console

    def assert_empty(self) -> None:
        wait_until_empty(self.relay, MOMENT_S)
        wait_until(lambda: self.upstream.inflight == 0, MOMENT_S, "idle upstream")


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        if request.param == "daphne":
            relay = request.getfixturevalue("relay")
        else:
            folder = tmp_path_factory.mktemp("relay") / "data"
            relay = stack.enter_context(served_relay(folder, ServedOptions(request.param)))
        upstream = Upstream(relay.simulator_url)
        stack.callback(upstream.close)
        yield Site(relay, upstream, stack.enter_context(Console(relay)))


@pytest.fixture(autouse=True)
def _forget(site: Site) -> Iterator[None]:
    site.upstream.reset()
    yield
    site.upstream.reset()


@pytest.mark.parametrize("how", LEAVINGS)
@pytest.mark.parametrize("phase", CUT)
def test_a_caller_that_leaves_while_running_cuts_the_upstream_at_once(site: Site, phase: str, how: str) -> None:
    directives, stream, read = CUT[phase]
    site.upstream.set_scene(directives)
    ask = Ask(stream=stream)
    with Caller(site.relay, ask) as caller:
        site.upstream.arrival(ask.word)
        caller.read_until(read)
        left_at_us = site.upstream.now_us
        caller.leave(how)
        arrival = ended_arrival(site.upstream, ask.word)
    assert arrival["outcome"] == "aborted_by_client"
    assert arrival["ended_at_us"] - left_at_us < MOMENT_S * 1e6
    site.assert_empty()
    assert_row_says_gone(site.console.row_of(ask.word), stream=stream, has_read=bool(read))


def ended_arrival(upstream: Upstream, word: str) -> dict[str, Any]:
    wait_until(lambda: upstream.arrival(word)["outcome"] != "running", 3 * MOMENT_S, "end at the upstream")
    return upstream.arrival(word)


def assert_row_says_gone(row: dict[str, Any], *, stream: bool, has_read: bool) -> None:
    said = {name: row[name] for name in ("outcome", "reason", "http_status", "stream", "measured")}
    measured = "partial" if has_read else ""
    assert said == {
        "outcome": "client_gone",
        "reason": "client_gone",
        "http_status": 499,
        "stream": stream,
        "measured": measured,
    }
    assert [attempt["outcome"] for attempt in row["attempts"]] == ["client_gone"]
    assert (row["completion_tokens"] or 0) > 0 if has_read else row["completion_tokens"] is None


@pytest.mark.parametrize("how", LEAVINGS)
def test_a_caller_that_leaves_the_line_leaves_no_ticket_and_is_never_sent(site: Site, how: str) -> None:
    site.upstream.set_scene("fault=slow_first_byte(20000)", times=PER_MODEL)
    holders = [Ask() for _ in range(PER_MODEL)]
    late = Ask()
    with Caller(site.relay, holders[0]), Caller(site.relay, holders[1]):
        for holder in holders:
            site.upstream.arrival(holder.word)
        with Caller(site.relay, late) as caller:
            wait_until(lambda: queue_of(site.relay)["relay"]["waiting"] == 1, 5, "ticket in line")
            caller.leave(how)
        wait_until(lambda: queue_of(site.relay)["relay"]["waiting"] == 0, MOMENT_S, "empty line")
        assert queue_of(site.relay)["relay"]["running"] == PER_MODEL
        row = site.console.row_of(late.word)
    assert (row["outcome"], row["http_status"], row["attempts"], row["run_ms"]) == ("client_gone", 499, [], 0)
    assert row["queue_ms"] > 0
    assert site.upstream.arrivals(late.word) == []
    site.assert_empty()


@pytest.mark.parametrize("how", LEAVINGS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_caller_that_leaves_after_the_last_byte_has_had_a_complete_answer(site: Site, stream: bool, how: str) -> None:
    asks = [Ask(stream=stream) for _ in range(10)]
    for ask in asks:
        with Caller(site.relay, ask) as caller:
            caller.read_until(b"data: [DONE]\n\n" if stream else b'"usage"')
            caller.leave(how)
    rows = site.console.rows_by_client([ask.word for ask in asks]).values()
    assert {(row["outcome"], row["http_status"], row["measured"]) for row in rows} == {("completed", 200, "measured")}
    site.assert_empty()


# --- upstreams that break


@pytest.fixture(scope="module")
def brief(site: Site) -> Iterator[None]:
    """A model of the simulator whose calls are stopped after one second, four at once."""
    site.console.run(f"""
        profile = create_profile("simulator", "brief", run_timeout_s=1, lanes_per_model=4)
        url = Provider.objects.get(slug="simulator").base_url
        provider = Provider.objects.create(
            slug="brief", name="brief", vendor="simulator", dialect="openai_chat", base_url=url, enabled=True,
            lane_profile=profile,
        )
        Credential.objects.create(provider=provider, label="main", key="sk-any")
        Model.objects.create(provider=provider, upstream_name="{BRIEF}")
    """)
    wait_until_in_force(site.relay, lambda picture: provider_in(picture, "brief") is not None)
    yield
    site.console.run("""
        provider = Provider.objects.get(slug="brief")
        profile = provider.lane_profile
        provider.delete()
        profile.delete()
    """)


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    ("fault", "code", "outcome"),
    [
        ("reset_connection", "provider_unavailable", "upstream_error"),
        ("reset_connection(3)", "provider_unavailable", "upstream_error"),
        ("garbage", "provider_unavailable", "upstream_error"),
        ("garbage(3)", "provider_unavailable", "upstream_error"),
        ("504", "run_timeout", "run_timeout"),
        ("silent_after_accept", "run_timeout", "run_timeout"),
    ],
)
async def test_twenty_broken_calls_in_a_row_leak_nothing_and_the_next_one_runs(
    site: Site, fault: str, code: str, outcome: str
) -> None:
    await fill_the_pool(site)
    pid = server_pid(site.relay)
    files = len(open_files(pid))
    site.upstream.set_scene(f"fault={fault}", times=None)
    rounds = [[Ask(BRIEF, stream=number % 2 == 0) for number in range(4)] for _ in range(5)]
    for asks in rounds:
        assert {code_of(answered) for answered in await send_together(site.relay, asks)} == {code}
    site.upstream.reset()
    assert (await send_one(site.relay, Ask(BRIEF))).status == 200
    site.assert_empty()
    wait_until(lambda: len(open_files(pid)) <= files, 3, f"no more than {files} open files")
    rows = site.console.rows_by_client([ask.word for asks in rounds for ask in asks]).values()
    assert [row["outcome"] for row in rows] == [outcome] * 20


async def fill_the_pool(site: Site) -> None:
    """As many kept-open connections to the upstream as the broken calls can leave there."""
    site.upstream.set_scene("ttft_ms=100", times=4)
    await send_together(site.relay, [Ask(BRIEF) for _ in range(4)])
    site.assert_empty()


def code_of(answered: Answered) -> str:
    assert answered.told is not None
    return str(answered.told["code"])
