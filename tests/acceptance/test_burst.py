"""Many calls at once: each ends as an answer or a clear no, and the upstream never has more than its lanes allow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.acceptance.calls import Answered, Ask, send_together
from tests.acceptance.conftest import Serve
from tests.acceptance.console import Console
from tests.acceptance.live import provider_in, wait_until_empty, wait_until_in_force
from tests.acceptance.served import ServedRelay
from tests.acceptance.upstream import Upstream
from tests.acceptance.waiting import wait_until, wait_until_quiet

pytestmark = pytest.mark.served

# The defaults of a simulator: 4 lanes, 2 of them per model, 8 places in line; 16 inside the whole relay.
LANES, PER_MODEL, LINE, INSIDE = 4, 2, 8, 16
WAIT_S, RUN_S = 60, 180  # the stated timeouts
NOES = {"provider_queue_full", "gateway_overloaded", "provider_queue_timeout", "queue_evicted"}
ANSWER_MS = 150
MODELS = ("sim-small", "sim-large")


@pytest.fixture(scope="module")
def console(relay: ServedRelay) -> Iterator[Console]:
    with Console(relay) as console:
        yield console


@pytest.fixture
def upstream(relay: ServedRelay) -> Iterator[Upstream]:
    upstream = Upstream(relay.simulator_url)
    upstream.reset()
    yield upstream
    upstream.reset()
    upstream.close()


async def burst(relay: ServedRelay, upstream: Upstream, count: int) -> list[Answered]:
    """`count` calls at once, every other one streamed, over two models."""
    upstream.set_scene(f"ttft_ms={ANSWER_MS}", times=None)
    asks = [Ask(MODELS[number % 2], stream=number % 4 < 2) for number in range(count)]
    return await send_together(relay, asks)


def assert_is_answer_or_clear_no(answered: Answered) -> None:
    assert answered.took_s < WAIT_S + RUN_S
    if answered.status == 200:
        assert answered.word in answered.text
        assert not answered.broken
    else:
        assert_is_clear_no(answered)


def assert_is_clear_no(answered: Answered) -> None:
    """A 429 with its reason, and one true time, said three times over."""
    error, headers = answered.error, answered.headers
    assert answered.status == 429
    assert error["code"] in NOES
    assert headers["x-relay-reason"] == error["code"]
    assert error["stage"] == "capacity"
    assert error["message"]
    assert error["request_id"] == headers["x-relay-request-id"]
    assert error["retry_after_ms"] == int(headers["retry-after-ms"]) >= 1000
    assert int(headers["retry-after"]) == math.ceil(error["retry_after_ms"] / 1000)


def assert_nothing_is_held(relay: ServedRelay, upstream: Upstream) -> None:
    wait_until_empty(relay)
    wait_until(lambda: upstream.inflight == 0, 1, "idle upstream")


def assert_burst_is_served(relay: ServedRelay, upstream: Upstream, answers: list[Answered]) -> None:
    for answered in answers:
        assert_is_answer_or_clear_no(answered)
    assert_nothing_is_held(relay, upstream)
    report, statuses = upstream.report(), Counter(answered.status for answered in answers)
    assert report["peak_inflight"] == LANES
    assert upstream.peaks() == dict.fromkeys(MODELS, PER_MODEL)
    assert len(report["arrivals"]) == statuses[200]  # a no never reaches the provider
    assert statuses[200] >= min(len(answers), LANES + LINE)


@pytest.mark.parametrize("count", [20, 50, 200])
async def test_in_a_burst_each_call_is_answered_or_clearly_refused(
    relay: ServedRelay, upstream: Upstream, count: int
) -> None:
    assert_burst_is_served(relay, upstream, await burst(relay, upstream, count))


async def test_every_call_of_a_burst_is_in_the_books_once(
    relay: ServedRelay, upstream: Upstream, console: Console
) -> None:
    total = "result = sum(UsageRow.objects.values_list('refused_count', flat=True))"
    wait_until_quiet(lambda: console.run(total))
    before = console.run(total)
    answers = await burst(relay, upstream, 50)
    assert wait_until_quiet(lambda: console.run(total)) == before + 50
    answered = [a.headers["x-relay-request-id"] for a in answers if a.status == 200]
    outcomes = f"result = list(UsageRow.objects.filter(request_id__in={answered!r}).values_list('outcome', flat=True))"
    assert console.run(outcomes) == ["completed"] * len(answered)


@pytest.mark.slow
async def test_so_it_is_on_uvicorn(serve: Serve) -> None:
    with serve("uvicorn") as relay:
        upstream = Upstream(relay.simulator_url)
        for count in (20, 50, 200):
            upstream.reset()
            assert_burst_is_served(relay, upstream, await burst(relay, upstream, count))
        upstream.close()


AGENTS = ("codex", "claude")


@pytest.fixture(scope="module")
def agents(relay: ServedRelay, console: Console) -> Iterator[None]:
    """Two providers with the lane profiles of command-line agents (3 lanes, 1 per model); both are the simulator."""
    console.run(f"""
        url = Provider.objects.get(slug="simulator").base_url
        for slug in {AGENTS}:
            provider = Provider.objects.create(
                slug=slug, name=slug, vendor="simulator", dialect="openai_chat", base_url=url, enabled=True,
                lane_profile=create_profile(slug, slug),
            )
            Credential.objects.create(provider=provider, label="main", key="sk-any")
            for number in range(4):
                Model.objects.create(provider=provider, upstream_name=f"sim-{{slug}}-{{number}}")
    """)
    wait_until_in_force(relay, lambda picture: provider_in(picture, AGENTS[-1]) is not None)
    yield
    console.run(f"""
        for provider in Provider.objects.filter(slug__in={AGENTS}):
            profile = provider.lane_profile
            provider.delete()
            profile.delete()
    """)
    wait_until_in_force(relay, lambda picture: provider_in(picture, AGENTS[-1]) is None)


@pytest.mark.usefixtures("agents")
@pytest.mark.parametrize("agent", AGENTS)
async def test_different_models_run_side_by_side_and_the_same_model_one_at_a_time(
    relay: ServedRelay, upstream: Upstream, agent: str
) -> None:
    upstream.set_scene(f"ttft_ms={ANSWER_MS}", times=None)
    models = [f"sim-{agent}-{number}" for number in range(4)]
    answers = await send_together(relay, [Ask(model) for model in models * 2])
    assert [answered.status for answered in answers] == [200] * 8
    assert upstream.peaks() == dict.fromkeys(models, 1)
    assert upstream.report()["peak_inflight"] == 3
    assert_nothing_is_held(relay, upstream)


@pytest.mark.usefixtures("agents")
async def test_one_model_has_one_lane_though_the_others_are_free(relay: ServedRelay, upstream: Upstream) -> None:
    upstream.set_scene(f"ttft_ms={ANSWER_MS}", times=None)
    answers = await send_together(relay, [Ask("sim-codex-0") for _ in range(4)])
    assert [answered.status for answered in answers] == [200] * 4
    assert upstream.report()["peak_inflight"] == 1
    assert_nothing_is_held(relay, upstream)
