from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduling.planner.caller import Retrying
from scheduling.planner.calls import No
from scheduling.planner.scenario import Bursts, Retry
from scheduling.planner.timeline import Timeline, in_us
from scheduling.planner.work import jobs_of
from tests.scheduling.planner.plans import carry_out, crowd, plan, provider, requests

TOLD = No("limit", in_us(10))


def waits_s(policy: Retry, times: int, no: No = TOLD) -> list[float | None]:
    retrying = Retrying(policy, Timeline(), Random(1))
    waits_us = [retrying.wait_us(refused_before, no) for refused_before in range(times)]
    return [None if wait_us is None else wait_us / 1e6 for wait_us in waits_us]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Retry(first_s=0.2, growth=1, jitter=False, times=3), [0.2, 0.2, 0.2, None]),
        (Retry(first_s=0.5, longest_s=3, jitter=False), [0.5, 1, 2, 3]),
        (Retry(first_s=0.5, jitter=False, honours_retry_after=True), [10.5, 11, 12, 14]),
        (Retry(times=0), [None] * 4),
    ],
)
def test_each_kind_of_client_waits_in_its_own_way(policy: Retry, expected: list[float | None]) -> None:
    assert waits_s(policy, 4) == expected


def test_jitter_spreads_a_wait_from_nothing_to_its_whole_length() -> None:
    waits = [wait_s or 0 for wait_s in waits_s(Retry(first_s=8, growth=1, longest_s=8), 400)]
    assert 0 <= min(waits) < 0.2
    assert 7.8 < max(waits) <= 8
    assert sum(waits) / 400 == pytest.approx(4, abs=0.4)


def test_one_who_honours_a_time_that_was_not_told_waits_his_own() -> None:
    assert waits_s(Retry(jitter=False, honours_retry_after=True), 2, No("limit")) == [0.5, 1]


def bursts(**changes: Any) -> Bursts:
    usual: dict[str, Any] = {"jobs": 2, "bursts": 3, "prompt_tokens": [10, 20], "turn_s": (1.0, 2.0)}
    return Bursts(**{**usual, **changes})


def test_bursts_come_on_the_full_minute_whatever_became_of_the_last() -> None:
    jobs = jobs_of(bursts(), seed=1)
    assert [job.at_us / 1e6 for job in jobs] == [0, 0, 60, 60, 120, 120]
    assert [turn.prompt_tokens for turn in jobs[0].turns] == [10, 20]


def test_a_crowd_joins_evenly_and_begins_its_prompts_again() -> None:
    jobs = jobs_of(crowd(clients=4, joining_s=2, turns=3, prompt_tokens=[10, 20], users=2), seed=1)
    assert [job.at_us / 1e6 for job in jobs] == [0, 0.5, 1, 1.5]
    assert [turn.prompt_tokens for turn in jobs[0].turns] == [10, 20, 10]
    assert [job.user for job in jobs] == ["user:1", "user:2", "user:1", "user:2"]


def test_the_work_depends_on_the_seed_and_on_nothing_else() -> None:
    assert jobs_of(bursts(), seed=1) == jobs_of(bursts(max_tokens=5), seed=1)
    assert jobs_of(bursts(), seed=1) != jobs_of(bursts(), seed=2)


def test_a_dead_job_asks_for_no_further_turn() -> None:
    ran = carry_out(
        plan(
            crowd(clients=2, turns=3),
            provider(requests(1, 600)),
            retry=Retry(first_s=1, growth=1, jitter=False, times=2),
        )
    )
    assert (ran.figures.done, ran.figures.dead) == (0, 2)
    assert ran.figures.dead_on_turn == {1: 1, 2: 1}
    assert ran.figures.refusals == 6


def test_a_caller_who_is_refused_counts_its_waiting_from_its_first_try() -> None:
    ran = carry_out(
        plan(
            crowd(clients=2, streams=True, first_token_s=0.2),
            provider(requests(1, 10)),
            retry=Retry(first_s=0, jitter=False, honours_retry_after=True),
        )
    )
    assert ran.journal.first_tokens_us == [in_us(0.2), in_us(10.2)]


def test_those_who_are_still_at_it_at_the_end_are_neither_done_nor_dead() -> None:
    ran = carry_out(plan(crowd(clients=2), provider(requests(1, 600)), stops_s=30.0))
    assert (ran.figures.done, ran.figures.dead, ran.figures.unfinished) == (1, 0, 1)
    assert ran.figures.p50_s == 1.0
    assert ran.figures.p95_s is None
