"""Recorded calls once more: under the numbers they had, and under others."""

from __future__ import annotations

from dataclasses import replace as changed
from itertools import pairwise
from typing import Any

import pytest

from scheduling.core.spec import (
    FlowSpec,
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
    WindowSpec,
)
from scheduling.planner.reading import read_scenario
from scheduling.planner.replay import Recorded, Replayed, most_within, replay, replay_figures
from scheduling.planner.simulation import run
from scheduling.planner.timeline import SECOND_US
from scheduling.planner.work import users_of

NOON_US = 1_790_000_000 * SECOND_US


def rules(**figures: Any) -> LaneRules:
    usual: dict[str, Any] = {
        "lanes": 1,
        "lanes_per_model": None,
        "max_waiting": 8,
        "wait_timeout_us": 60 * SECOND_US,
        "run_timeout_us": 180 * SECOND_US,
        "guard_us": 0,
    }
    return LaneRules(**{**usual, **figures})


def spec(lane_rules: LaneRules, *models: str, **relay: Any) -> SchedulerSpec:
    named = {key: ModelSpec(key, key, lane_rules) for key in models or ("p/m",)}
    bounds = RelaySpec(**{"max_running": 100, "max_inside": 1000, **relay})
    return SchedulerSpec(1, bounds, {"p": ProviderSpec("p", lane_rules, named)})


def call(at_s: float, run_s: float, **changes: Any) -> Recorded:
    usual: dict[str, Any] = {"model": "p/m", "flow": "user:1", "prompt_tokens": 10, "completion_tokens": 5}
    return Recorded(at_us=round(at_s * SECOND_US), run_us=round(run_s * SECOND_US), **{**usual, **changes})


def played(calls: list[Recorded], scheduler: SchedulerSpec) -> Replayed:
    return replay(calls, scheduler, "p", NOON_US)


def test_one_lane_takes_them_one_after_the_other() -> None:
    figures = replay_figures(played([call(0, 10), call(0, 10), call(0, 10)], spec(rules())))
    assert (figures.started, figures.refused, figures.peak_running) == (3, {}, 1)
    assert (figures.wait_p50_s, figures.wait_p95_s) == (10.0, 20.0)


def test_with_as_many_lanes_nobody_waits() -> None:
    figures = replay_figures(played([call(0, 10)] * 3, spec(rules(lanes=3))))
    assert (figures.wait_p99_s, figures.peak_running, figures.peak_waiting) == (0.0, 3, 0)


@pytest.mark.parametrize(
    ("figures", "refused"),
    [
        ({"max_waiting": 1}, {"provider_queue_full": 3}),
        ({"wait_timeout_us": 15 * SECOND_US}, {"provider_queue_timeout": 3}),
        (
            {"max_waiting": 2, "wait_timeout_us": 15 * SECOND_US},
            {"provider_queue_full": 2, "provider_queue_timeout": 1},
        ),
    ],
)
def test_who_is_refused_is_told_by_reason(figures: dict[str, Any], refused: dict[str, int]) -> None:
    assert replay_figures(played([call(0, 10)] * 5, spec(rules(**figures)))).refused == refused


def test_models_have_lanes_of_their_own() -> None:
    calls = [call(0, 10, model="p/a"), call(0, 10, model="p/a"), call(0, 10, model="p/b")]
    figures = replay_figures(played(calls, spec(rules(lanes=3, lanes_per_model=1), "p/a", "p/b")))
    assert (figures.peak_running, figures.wait_p99_s) == (2, 10.0)


def test_requests_a_minute_space_the_starts() -> None:
    paced = rules(lanes=9, windows=(WindowSpec(Measure.REQUESTS, 6),))
    replayed = played([call(0, 1)] * 6, spec(paced))
    starts = replayed.journal.started_us
    assert {after - before for before, after in pairwise(starts)} == {10 * SECOND_US}


def test_tokens_are_charged_with_what_callers_set_aside() -> None:
    window = (WindowSpec(Measure.TOTAL_TOKENS, 1000),)
    modest, greedy = ([call(0, 1, cap_tokens=cap)] * 4 for cap in (100, 900))
    limited = spec(rules(lanes=9, windows=window))
    assert replay_figures(played(modest, limited)).wait_p99_s == 0.0
    assert (replay_figures(played(greedy, limited)).wait_p99_s or 0) > 0


def test_own_limits_of_users_still_bind() -> None:
    own = changed(spec(rules(lanes=9)), flows={"user:1": FlowSpec("user:1", rpm=2)})
    figures = replay_figures(played([call(0, 1, limits=("user:1",))] * 3, own))
    assert figures.refused == {"token_limit_reached": 1}


def test_the_relays_own_bound_is_kept() -> None:
    figures = replay_figures(played([call(0, 10)] * 4, spec(rules(lanes=9), max_running=2, max_inside=3)))
    assert (figures.peak_running, figures.refused) == (2, {"gateway_overloaded": 1})


def test_a_call_runs_no_longer_than_the_run_limit() -> None:
    replayed = played([call(0, 500), call(0, 1)], spec(rules(run_timeout_us=30 * SECOND_US)))
    assert replayed.journal.started_us == [0, 30 * SECOND_US]


def test_the_picture_knows_how_full_lanes_and_line_were() -> None:
    fills = played([call(0, 10)] * 3, spec(rules(max_waiting=4))).journal.fills
    assert max(lanes for _, (lanes, _line) in fills) == 1.0
    assert max(line for _, (_lanes, line) in fills) == 0.5
    assert fills[-1][1] == [0.0, 0.0]


def test_the_same_calls_give_the_same_replay() -> None:
    calls = [call(number * 0.7, 5 + number % 3) for number in range(40)]
    assert played(calls, spec(rules())) == played(calls, spec(rules()))


@pytest.mark.parametrize(
    ("times_s", "most"), [([], 0), ([0], 1), ([0, 30, 59], 3), ([0, 60], 1), ([0, 59.9, 60, 61, 90], 4)]
)
def test_the_busiest_minute_is_any_minute(times_s: list[float], most: int) -> None:
    assert most_within([round(one * SECOND_US) for one in times_s], 60 * SECOND_US) == most


REPLAY = """
name = "again"
title = "As it came"
[provider]
limits = [{ measure = "requests", limit = 1, window = "sliding", window_s = 10 }]
[work]
arrive = "replay"
arrivals = [
    { at_s = 5.0, user = "user:2", prompt_tokens = 20, answer_tokens = 7, turn_s = 1.5 },
    { at_s = 0.0, user = "user:1", prompt_tokens = 10, answer_tokens = 5, turn_s = 2.0 },
]
[[rows]]
row = "straight"
retry = { times = 0 }
[[rows]]
row = "relay"
goes = "relay"
recorded = { count = 1, tokens = 5 }
"""


def test_a_scenario_may_give_its_arrivals_one_by_one() -> None:
    straight, relayed = read_scenario(REPLAY).plans
    assert users_of(straight.work) == ["user:2", "user:1"]
    journal = run(straight)
    assert journal.asked_us == [0, 5 * SECOND_US]
    assert (len(journal.started_us), len(journal.refusals), journal.billed_tokens) == (1, 1, 15)
    assert len(run(relayed).refusals) == 0
