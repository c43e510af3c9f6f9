"""A trial through the real use case: lanes are never passed, all is charged and booked, nothing stays behind."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from django.utils import translation

from accounts.outcomes import Outcome
from providers.adapters.openai_chat.decode import ChatBodyReader
from providers.contract import Answer, ChatRequest, Deadlines, Refusal, RefusalKind, Target
from relay_project.together.measure import Verdict, Why
from relay_project.together.sending import Asked
from relay_project.together.trial import Report, Stage, Trial, lanes_of
from relay_project.together.words import report_words, stage_words
from scheduling.core.spec import CredentialSpec, OnBriefRefusal
from tests.relay_project.use_case_fakes import CALLER, IN_BAND_ERROR, World

TOO_MANY = Refusal(RefusalKind.CONCURRENCY, status=429, message="too many at once")
WORD = re.compile(r"[A-Z]+-\d{4}")


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


class Echo:
    """Says the code word back after a while; works on so many at a time, refuses beyond, or mixes them up."""

    dialect = "openai_chat"

    def __init__(self, world: World, *, takes_s: float = 1, at_a_time: int = 99, bears: int = 99) -> None:
        self._clock = world.clock
        self._takes_s = takes_s
        self._places = asyncio.Semaphore(at_a_time)
        self._bears = bears
        self.open = 0
        self.peak = 0
        self.mixes = False
        self._said = ""

    async def chat(self, target: Target, request: ChatRequest, deadlines: Deadlines) -> Answer | Refusal:
        if self.open >= self._bears:
            return TOO_MANY
        self.open += 1
        self.peak = max(self.peak, self.open)
        reader = ChatBodyReader(lambda _error: IN_BAND_ERROR)
        return Answer(200, [], self._chunks(self._word_for(request)), reader, lambda: None)

    def _word_for(self, request: ChatRequest) -> str:
        word = (WORD.findall(request.fields["messages"][0]["content"]) or [""])[0]
        said, self._said = (self._said or word, word) if self.mixes else (word, word)
        return said

    async def _chunks(self, word: str) -> AsyncIterator[bytes]:
        try:
            async with self._places:
                await self._clock.sleep(self._takes_s)
        finally:
            self.open -= 1
        choice = {"message": {"content": word}, "finish_reason": "stop"}
        yield json.dumps({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}).encode()

    async def list_models(self, target: Target, deadlines: Deadlines) -> list[str]:
        return ["m"]


async def opened(lanes: int, **figures: Any) -> World:
    return await World.open([], lanes=lanes, wait_timeout_us=600_000_000, run_timeout_us=600_000_000, **figures)


def trial_of(world: World, echo: Echo, count: int) -> Trial:
    async def refresh() -> None:
        return None

    parts = replace(world.parts, adapters={"openai_chat": echo})  # type: ignore[dict-item]
    return Trial(parts, refresh, Asked("one", count, CALLER, "en"))


async def carried_out(world: World, echo: Echo, count: int) -> Report:
    work = asyncio.ensure_future(trial_of(world, echo, count).report())
    await world.clock.advance(120)
    return await asyncio.wait_for(work, 5)


async def test_n_run_together_and_are_measured_against_one_alone() -> None:
    world = await opened(8)
    echo = Echo(world)
    report = await carried_out(world, echo, 4)
    assert (report.sent, echo.peak, report.measured.alone_ms) == (4, 4, 1000)
    assert [one.verdict for one in report.measured.calls] == [Verdict.RIGHT] * 4
    assert (report.measured.gain, report.measured.proposal.lanes) == (4.0, 4)
    assert world.is_quiet()


async def test_every_call_leaves_its_row_as_a_test_of_class_normal() -> None:
    world = await opened(8)
    await carried_out(world, Echo(world), 4)
    assert {(row.purpose, row.klass, row.outcome) for row in world.books.rows} == {("test", "normal", "completed")}
    assert len(world.books.rows) == 2 + 4


async def test_a_trial_never_passes_the_lane_profile_by_and_says_so() -> None:
    world = await opened(3)
    echo = Echo(world)
    report = await carried_out(world, echo, 8)
    assert (report.sent, echo.peak, report.measured.proposal.lanes) == (3, 3, 3)
    assert "You asked for 8 at once" in report_words(report)["notes"][0]


async def test_with_one_lane_nothing_is_sent_at_all() -> None:
    world = await opened(1)
    echo = Echo(world)
    report = await carried_out(world, echo, 4)
    assert (report.sent, echo.peak, world.books.rows) == (0, 0, [])
    words = report_words(report)
    assert words["headline"] == "Nothing was sent: the lane profile lets only one call run at a time"
    assert words["proposal"] == ""


async def test_a_provider_that_works_on_two_at_a_time_is_found_out() -> None:
    world = await opened(8)
    report = await carried_out(world, Echo(world, at_a_time=2), 6)
    assert (report.measured.proposal.lanes, report.measured.proposal.why) == (2, Why.QUEUES)


async def test_refusals_are_told_even_where_the_relay_has_waited_them_out() -> None:
    world = await opened(8, on_brief_refusal=OnBriefRefusal.WAIT_ONCE)
    report = await carried_out(world, Echo(world, bears=3), 5)
    verdicts = sorted(one.verdict for one in report.measured.calls)
    assert verdicts == [Verdict.FAILED] * 2 + [Verdict.RIGHT] * 3
    assert (report.measured.proposal.lanes, report.measured.proposal.why) == (3, Why.REFUSED)
    assert world.is_quiet()


async def test_mixed_up_answers_are_seen() -> None:
    world = await opened(8)
    echo = Echo(world)
    echo.mixes = True
    report = await carried_out(world, echo, 3)
    assert Verdict.MIXED in [one.verdict for one in report.measured.calls]
    assert (report.measured.proposal.lanes, report.measured.proposal.why) == (1, Why.MIXED)


async def test_if_one_alone_does_not_get_through_no_more_are_sent() -> None:
    world = await opened(8, on_brief_refusal=OnBriefRefusal.PASS_ON)
    report = await carried_out(world, Echo(world, bears=0), 4)
    assert (report.sent, len(world.books.rows), report.measured.proposal.why) == (0, 1, Why.UNKNOWN)
    assert [one.why for one in report.measured.calls] == ["concurrency"]
    assert report_words(report)["calls"][0]["why"] == "too many at once"


async def test_whoever_leaves_stops_all_of_it() -> None:
    world = await opened(8)
    echo = Echo(world, takes_s=30)
    trial = trial_of(world, echo, 4)
    async with aclosing(trial.progress()) as steps:
        assert isinstance(await anext(steps), Stage)
        looking = asyncio.ensure_future(anext(steps))
        await world.clock.advance(70)
        assert isinstance(await looking, Stage)
        assert echo.open == 4
    await world.clock.advance(0)
    assert world.is_quiet()
    assert echo.open == 0
    assert Outcome.CLIENT_GONE in [row.outcome for row in world.books.rows]


async def test_it_tells_every_second_where_it_stands_then_the_report() -> None:
    world = await opened(2)
    trial = trial_of(world, Echo(world, takes_s=2), 2)
    seen: list[Stage | Report] = []

    async def look() -> None:
        async with aclosing(trial.progress()) as steps:
            async for step in steps:
                seen.append(step)

    looking = asyncio.ensure_future(look())
    await world.clock.advance(10)
    await asyncio.wait_for(looking, 5)
    words = [stage_words(step) for step in seen if isinstance(step, Stage)]
    assert "One alone, to compare with… (1 s)" in words
    assert "2 together: 2 running, 0 waiting, 0 ended (1 s)" in words
    assert isinstance(seen[-1], Report)


async def test_calls_of_others_are_noticed() -> None:
    world = await opened(4)
    echo = Echo(world, takes_s=60)
    others = replace(world.parts, adapters={"openai_chat": echo})  # type: ignore[dict-item]
    world.relay._parts = others
    call = asyncio.ensure_future(world.ask(world.call(stream=False)))
    await world.until(lambda: echo.open == 1)
    report = await carried_out(world, Echo(world), 3)
    assert report.others == 1
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


def test_lanes_are_the_least_of_profile_model_relay_and_keys() -> None:
    world = World([], lanes=6, lanes_per_model=5)
    configuration = world.configuration
    assert lanes_of(configuration, "one") == 5
    assert configuration.scheduler is not None
    one = configuration.scheduler.providers["one"]

    def with_keys(*lanes: int | None) -> int:
        keys = tuple(CredentialSpec(str(number), "g", lanes=bound) for number, bound in enumerate(lanes))
        providers = {"one": replace(one, credentials=keys)}
        return lanes_of(
            replace(configuration, scheduler=replace(configuration.scheduler, providers=providers)),
            "one",  # type: ignore[type-var]
        )

    assert with_keys(1, 2) == 3
    assert with_keys(1, None) == 5
    assert with_keys() == 5


async def test_the_report_is_told_in_korean_too() -> None:
    world = await opened(3)
    report = await carried_out(world, Echo(world), 8)
    english = report_words(report)
    with translation.override("ko"):
        korean = report_words(report)
    for name in ("headline", "proposal", "notes", "facts"):
        assert korean[name] != english[name]
