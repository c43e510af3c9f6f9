from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from scheduling.planner.calls import Call, No
from scheduling.planner.journal import Journal
from scheduling.planner.scenario import Change, Limit
from scheduling.planner.timeline import Timeline, in_us
from scheduling.planner.upstream import Upstream
from tests.scheduling.planner.plans import provider, requests, tokens


@dataclass
class Listener:
    timeline: Timeline
    heard: list[tuple[float, Any]] = field(default_factory=list)

    def on_first_token(self) -> None:
        self._note("first token")

    def on_done(self) -> None:
        self._note("done")

    def on_no(self, no: No) -> None:
        self._note(no)

    def _note(self, what: Any) -> None:
        self.heard.append((self.timeline.now_us / 1e6, what))


class Desk:
    """A provider, and somebody who sends it calls at given seconds."""

    def __init__(self, *limits: Limit, **changes: Any) -> None:
        self.timeline, self.journal = Timeline(), Journal()
        self.upstream = Upstream(provider(*limits, **changes), self.timeline, self.journal, Random(1))

    def send(self, *at_s: float, **changes: Any) -> list[Listener]:
        listeners = [Listener(self.timeline) for _ in at_s]
        for moment_s, listener in zip(at_s, listeners, strict=True):
            self.timeline.at(in_us(moment_s), lambda listener=listener: self.upstream.go(a_call(**changes), listener))
        self.timeline.advance(in_us(600))
        return listeners

    @property
    def started_s(self) -> list[float]:
        return [at_us / 1e6 for at_us in self.journal.started_us]

    @property
    def refused_s(self) -> list[float]:
        return [at_us / 1e6 for at_us, _ in self.journal.refusals]


def a_call(**changes: Any) -> Call:
    usual: dict[str, Any] = {
        "id": "c",
        "user": "u",
        "prompt_tokens": 100,
        "cap_tokens": 50,
        "answer_tokens": 10,
        "first_token_us": in_us(0.2),
        "run_us": in_us(1),
        "streams": False,
    }
    return Call(**{**usual, **changes})


@pytest.mark.parametrize(
    ("limit", "started_s"),
    [
        (requests(2, 60, window="fixed"), [50, 55, 61, 62]),
        (requests(2, 60, window="sliding"), [50, 55, 110]),
        (requests(60, 60, slice_s=1), [50, 55, 61, 62, 110]),
    ],
)
def test_what_fits_the_window_starts(limit: Limit, started_s: list[float]) -> None:
    desk = Desk(limit, counts_refused=False)
    desk.send(50, 55, 61, 62, 62, 110)
    assert desk.started_s == started_s


def test_a_slice_refuses_what_the_minute_would_allow() -> None:
    desk = Desk(requests(300, 60, slice_s=1))
    listeners = desk.send(*[0.5] * 6)
    assert (len(desk.started_s), desk.refused_s) == (5, [0.5])
    assert listeners[-1].heard == [(0.5, No("5 requests / 1 s", in_us(0.5)))]


@pytest.mark.parametrize(("counts", "started_s"), [(True, [0, 1]), (False, [0, 1, 60])])
def test_a_refused_call_counts_as_a_request_where_the_provider_says_so(counts: bool, started_s: list[float]) -> None:
    desk = Desk(requests(2, 60, window="sliding"), counts_refused=counts)
    desk.send(0, 1, 30, 60)
    assert desk.started_s == started_s


def test_a_refused_call_never_counts_as_tokens() -> None:
    desk = Desk(tokens(300))
    desk.send(0, 1, 2, 3)  # 150 each
    assert (desk.started_s, desk.refused_s) == ([0, 1], [2, 3])
    assert (desk.journal.charged_tokens, desk.journal.billed_tokens) == (300, 220)


@pytest.mark.parametrize(
    ("charge", "at_once"), [("prompt_plus_max", 1), ("max_of", 2), ("prompt", 3)], ids=lambda value: str(value)
)
def test_tokens_are_charged_at_arrival_by_the_provider_s_rule(charge: str, at_once: int) -> None:
    desk = Desk(tokens(300), charge=charge)
    desk.send(0, 0, 0, 0, cap_tokens=150)
    assert len(desk.started_s) == at_once


@pytest.mark.parametrize(("refunds", "started_s"), [(False, [0, 2]), (True, [0, 2, 4])])
def test_unused_tokens_come_back_only_where_the_provider_refunds(refunds: bool, started_s: list[float]) -> None:
    desk = Desk(tokens(380), refunds=refunds)
    desk.send(0, 2, 4)
    assert desk.started_s == started_s


@pytest.mark.parametrize(
    ("retry_after", "told_s"), [("exact", 58.5), ("whole_seconds", 59.0), ("none", None)], ids=lambda value: str(value)
)
def test_the_time_told_is_the_provider_s_way_of_telling(retry_after: str, told_s: float | None) -> None:
    desk = Desk(requests(1), retry_after=retry_after)
    _, refused = desk.send(0, 1.5)
    assert refused.heard == [(1.5, No("1 requests / 60 s", None if told_s is None else in_us(told_s)))]


def test_one_who_comes_back_at_the_told_time_is_let_in() -> None:
    desk = Desk(requests(1, window="sliding"), counts_refused=False)
    desk.send(7, 30, 67)
    assert (desk.started_s, desk.refused_s) == ([7, 67], [30])


def test_only_streams_tell_of_a_first_token() -> None:
    whole, streamed = Desk().send(0)[0], Desk().send(0, streams=True)[0]
    assert whole.heard == [(1.0, "done")]
    assert streamed.heard == [(0.2, "first token"), (1.0, "done")]


def test_the_wire_delays_the_judging_and_the_no() -> None:
    _, refused = Desk(requests(1), wire_s=0.02, refusal_s=0.05).send(0, 1)
    assert refused.heard[0][0] == 1.07


def test_a_limit_changes_without_notice() -> None:
    desk = Desk(requests(4, 10), changes=[Change(at_s=10, factor=0.5), Change(at_s=20, factor=1)])
    desk.send(*[1] * 5, *[11] * 5, *[21] * 5)
    assert [desk.started_s.count(at_s) for at_s in (1, 11, 21)] == [4, 2, 4]


def test_an_answer_ends_at_its_cap() -> None:
    call = a_call(answer_tokens=80, cap_tokens=50)
    assert (call.completion_tokens, call.ends_for_length) == (50, True)
