"""Every way in which an upstream is known to fail, through the relay: an answer or a clear error, and nothing held."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from relay_project.catalogue import CATALOGUE
from tests.acceptance.calls import Answered, Ask, open_client, send, send_one
from tests.acceptance.console import Console
from tests.acceptance.endings import ENDINGS
from tests.acceptance.live import provider_in, queue_of, wait_until_in_force
from tests.acceptance.served import ServedRelay
from tests.acceptance.upstream import Upstream

pytestmark = pytest.mark.served

RUN_S, MARGIN_S = 1, 3.0  # calls are stopped after a second; the machine may be busy
AT_ONCE = 8  # fewer than the ten that the relay runs at once

# Each case has a provider of its own, so that what one ending closes (a used-up key) is not in another's way.
CASES = [(fault, stream) for fault in ENDINGS for stream in (True, False)]


@dataclass(frozen=True, slots=True)
class Ended:
    """One call through the relay; `held`: what its provider still had running and waiting when all were over."""

    answered: Answered
    held: tuple[int, int]
    row: dict[str, Any]


Ends = dict[tuple[str, bool], Ended]


def name_of(number: int) -> str:
    """Of a case's provider and model."""
    return f"faulty-{number}"


@pytest.fixture(scope="module")
def console(relay: ServedRelay) -> Iterator[Console]:
    with Console(relay) as console:
        yield console


@pytest.fixture(scope="module")
def upstream(relay: ServedRelay) -> Iterator[Upstream]:
    upstream = Upstream(relay.simulator_url)
    yield upstream
    upstream.reset()
    upstream.close()


@pytest.fixture(scope="module")
def faulty(relay: ServedRelay, console: Console) -> Iterator[None]:
    """Providers that are the simulator with one fault each. Calls run for a second, brief refusals are passed on."""
    upstream_names = {name_of(number): f"sim-{number};fault={fault}" for number, (fault, _) in enumerate(CASES)}
    console.run(f"""
        url = Provider.objects.get(slug="simulator").base_url
        for name, upstream_name in {upstream_names}.items():
            profile = create_profile("simulator", name, run_timeout_s={RUN_S})
            profile.on_brief_refusal = "pass_on"
            profile.save()
            provider = Provider.objects.create(
                slug=name, name=name, vendor="simulator", dialect="openai_chat", enabled=True, base_url=url,
                lane_profile=profile,
            )
            Credential.objects.create(provider=provider, label="main", key="sk-any")
            Model.objects.create(provider=provider, public_name=name, upstream_name=upstream_name)
    """)
    last = name_of(len(CASES) - 1)
    wait_until_in_force(relay, lambda picture: provider_in(picture, last) is not None)
    yield
    console.run(f"""
        Provider.objects.filter(slug__in={list(upstream_names)}).delete()
        LaneProfile.objects.filter(name__in={list(upstream_names)}).delete()
    """)
    console.run("Model.objects.first().save()")  # many rows were deleted at once: say that it is another configuration


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ends(relay: ServedRelay, upstream: Upstream, console: Console, faulty: None) -> Ends:
    """Every fault once streamed and once not, some at once; then what is held, and the books."""
    upstream.reset()
    places = asyncio.Semaphore(AT_ONCE)

    async def end(number: int, stream: bool) -> Answered:
        async with places:
            return await send(client, relay, Ask(name_of(number), stream=stream))

    async with open_client() as client:
        answers = await asyncio.gather(*(end(number, stream) for number, (_, stream) in enumerate(CASES)))
    rows = console.rows_by_client([answered.word for answered in answers])
    picture = queue_of(relay)
    held = [provider_in(picture, name_of(number)) or {} for number in range(len(CASES))]
    return {
        case: Ended(answered, (lane["running"], lane["waiting"]), rows[answered.word])
        for case, answered, lane in zip(CASES, answers, held, strict=True)
    }


def test_every_fault_of_the_simulator_is_in_the_table(upstream: Upstream) -> None:
    assert {fault.partition("(")[0] for fault in ENDINGS} == upstream.fault_names()


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("fault", ENDINGS)
def test_every_fault_ends_as_an_answer_or_a_clear_error_and_holds_nothing(ends: Ends, fault: str, stream: bool) -> None:
    ended = ends[fault, stream]
    outcome, code = ENDINGS[fault][0 if stream else 1]
    assert (ended.row["outcome"], ended.row["reason"]) == (outcome, code)
    assert ended.row["http_status"] == ended.answered.status
    assert ended.answered.took_s < RUN_S + MARGIN_S
    assert ended.held == (0, 0)
    assert not ended.answered.broken
    if code:
        assert_is_clear_error(ended.answered, code)
    else:
        assert_is_answer(ended.answered, stream=stream)


def assert_is_clear_error(answered: Answered, code: str) -> None:
    """In our form; before any content with its status and headers, after it as the stream's last event."""
    error, entry = answered.told, CATALOGUE[code]
    assert error is not None
    assert (error["code"], error["type"], error["stage"]) == (code, entry.type, entry.stage)
    assert error["source"] == "provider"
    assert error["provider"] == error["model"]  # here they have one name
    assert error["message"]
    assert error["request_id"] == answered.headers["x-relay-request-id"]
    assert answered.status == (200 if answered.events else entry.status)
    if answered.status == 429:
        assert int(answered.headers["retry-after-ms"]) == error["retry_after_ms"] > 0


def assert_is_answer(answered: Answered, *, stream: bool) -> None:
    assert answered.status == 200
    assert answered.told is None
    assert "set-cookie" not in answered.headers
    if stream:
        assert answered.events[-1] == "[DONE]"
        assert answered.events.count("[DONE]") == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_short_answer_with_an_error_signal_is_delivered_and_marked_recovered(ends: Ends, stream: bool) -> None:
    ended = ends["short_answer_with_error_signal", stream]
    assert ended.answered.word in ended.answered.text
    assert ended.row["recovered"] is True


def test_what_had_come_before_an_error_is_delivered_before_it(ends: Ends) -> None:
    ended = ends["error_event_after_content(overloaded_error,3)", True]
    assert ended.answered.text == "3 words: say"
    assert "[DONE]" not in ended.answered.events
    assert ended.row["measured"] == "partial"
    assert ended.row["completion_tokens"] == round(len("3 words: say") / 4.4)


def test_half_an_event_at_the_run_limit_does_not_swallow_the_error(ends: Ends) -> None:
    events = ends["trickle(1000)", True].answered.events
    assert all(event.get("choices") for event in events[:-1])
    assert events[-1]["error"]["code"] == "run_timeout"


def test_a_length_of_waiting_is_told_as_the_provider_told_it(ends: Ends) -> None:
    answered = ends["429(html,retry-after=7)", False].answered
    assert (answered.headers["retry-after"], answered.headers["retry-after-ms"]) == ("7", "7000")


async def test_a_brief_refusal_is_waited_out_once(relay: ServedRelay, upstream: Upstream) -> None:
    upstream.reset()
    upstream.set_scene("fault=429(empty,retry-after=1)")
    answered = await send_one(relay, Ask(stream=True))
    assert answered.word in answered.text
    assert answered.headers["x-relay-attempts"] == "2"
    assert int(answered.headers["x-relay-queue-ms"]) >= 1000


@pytest.mark.parametrize("stream", [True, False])
async def test_an_error_before_content_fails_over_for_a_role(
    relay: ServedRelay, upstream: Upstream, console: Console, stream: bool
) -> None:
    upstream.reset()
    upstream.set_scene("fault=error_event_before_content", model="sim-small")
    answered = await send_one(relay, Ask("fast-chat", stream=stream))
    assert answered.status == 200
    assert answered.told is None
    assert answered.word in answered.text
    assert (answered.headers["x-relay-model"], answered.headers["x-relay-attempts"]) == ("sim-large", "2")
    row = console.row_of(answered.word)
    assert [(a["model"], a["outcome"]) for a in row["attempts"]] == [
        ("sim-small", "upstream_error"),
        ("sim-large", "completed"),
    ]
    assert (row["outcome"], row["model"]) == ("completed", "sim-large")


async def test_an_error_after_content_does_not_fail_over(
    relay: ServedRelay, upstream: Upstream, console: Console
) -> None:
    upstream.reset()
    upstream.set_scene("fault=error_event_after_content", model="sim-small")
    answered = await send_one(relay, Ask("fast-chat", stream=True))
    assert answered.told is not None
    assert len(console.row_of(answered.word)["attempts"]) == 1
    assert [arrival["model"] for arrival in upstream.report()["arrivals"]] == ["sim-small"]
