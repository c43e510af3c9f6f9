"""The way through the relay: what stands around the core."""

from __future__ import annotations

import pytest

from scheduling.core.spec import ChargeRule, OnBriefRefusal
from scheduling.planner.scenario import Profile, Recorded, Retry, Window
from scheduling.planner.timeline import in_us
from scheduling.planner.work import jobs_of
from tests.scheduling.planner.plans import carry_out, crowd, plan, provider, requests, tokens

BLIND = [Window(measure="requests", limit=1_000)]  # the relay believes in much more than the provider allows
STRICT = provider(requests(1, 10))


def started_s(ran) -> list[float]:  # type: ignore[no-untyped-def]
    return [at_us / 1e6 for at_us in ran.journal.started_us]


def test_the_relay_keeps_the_provider_s_own_figures_unless_others_are_given() -> None:
    work, upstream = crowd(clients=4), provider(requests(2, 10, window="sliding"))
    ran = carry_out(plan(work, upstream, goes="relay", profile=Profile(guard_ms=0)))
    assert (ran.figures.refusals, started_s(ran)) == (0, [0, 5, 10, 15])
    blind = carry_out(plan(work, upstream, goes="relay", profile=Profile(windows=BLIND)))
    assert blind.figures.refusals > 0


def test_a_refused_call_waits_once_in_the_line_and_its_caller_hears_nothing() -> None:
    ran = carry_out(plan(crowd(clients=2), STRICT, goes="relay", profile=Profile(windows=BLIND), retry=Retry(times=0)))
    assert (ran.figures.refusals, ran.figures.done, ran.figures.dead) == (1, 2, 0)
    assert started_s(ran) == [0, 10]


def test_nobody_starts_into_a_refusal_that_has_just_come() -> None:
    ran = carry_out(plan(crowd(clients=4), STRICT, goes="relay", profile=Profile(windows=BLIND, lanes=1)))
    assert ran.figures.refusals == 3
    assert started_s(ran) == [0, 10, 20, 30]


def test_who_was_refused_goes_first_when_it_opens_again() -> None:
    work = crowd(clients=3, users=3, turn_s=(1.0, 3.0))
    ran = carry_out(plan(work, STRICT, goes="relay", profile=Profile(windows=BLIND, lanes=1)))
    _, refused, _ = jobs_of(work, seed=1)
    assert ran.journal.jobs_us[1] == in_us(10) + refused.turns[0].run_us


def test_passed_on_a_refusal_is_the_caller_s_affair() -> None:
    profile = Profile(windows=BLIND, on_brief_refusal=OnBriefRefusal.PASS_ON)
    ran = carry_out(plan(crowd(clients=2), STRICT, goes="relay", profile=profile, retry=Retry(times=0)))
    assert (ran.figures.refusals, ran.figures.done, ran.figures.dead) == (1, 1, 1)


def test_a_second_refusal_goes_to_the_caller() -> None:
    profile = Profile(windows=BLIND, guard_ms=0)
    upstream = provider(requests(1, 10), retry_after="none")  # nobody knows when: after the default second, again no
    ran = carry_out(plan(crowd(clients=2), upstream, goes="relay", profile=profile, retry=Retry(times=0)))
    assert (ran.figures.refusals, ran.figures.done, ran.figures.dead) == (2, 1, 1)


def test_a_full_line_is_our_own_no() -> None:
    profile = Profile(lanes=1, max_waiting=1)
    ran = carry_out(plan(crowd(clients=3), provider(), goes="relay", profile=profile, retry=Retry(times=0)))
    assert (ran.figures.refusals, ran.figures.rejections, ran.figures.dead) == (0, 1, 1)
    assert [code for _, code in ran.journal.rejections] == ["provider_queue_full"]


def test_one_who_waits_too_long_is_sent_away() -> None:
    profile = Profile(lanes=1, wait_timeout_s=5)
    ran = carry_out(plan(crowd(clients=2, turn_s=8), provider(), goes="relay", profile=profile, retry=Retry(times=0)))
    assert [(at_us / 1e6, code) for at_us, code in ran.journal.rejections] == [(5.0, "provider_queue_timeout")]


def test_the_larger_half_of_a_cap_is_not_charged_once_enough_answers_are_known() -> None:
    work = crowd(clients=1, answer_tokens=300, max_tokens=4096, prompt_tokens=[1000])
    capped, plain = (
        carry_out(
            plan(
                work,
                provider(tokens(100_000)),
                goes="relay",
                profile=Profile(answer_cap=True),
                recorded=Recorded(count=count, tokens=300),
            )
        )
        for count in (100, 99)
    )
    assert plain.figures.charged_tokens == 1000 + 4096
    assert capped.figures.charged_tokens == 1000 + 380  # 300 is in the bucket up to 304; a quarter more


@pytest.mark.parametrize(("streams_too", "charged"), [(False, 4196), (True, 480)])
def test_streams_keep_their_cap_without_the_second_opt_in(streams_too: bool, charged: int) -> None:
    ran = carry_out(
        plan(
            crowd(answer_tokens=300, max_tokens=4096, streams=True),
            provider(tokens(100_000)),
            goes="relay",
            profile=Profile(answer_cap=True, answer_cap_streams=streams_too),
            recorded=Recorded(count=100, tokens=300),
        )
    )
    assert ran.figures.charged_tokens == charged


def test_an_answer_that_ends_for_the_lowered_length_is_called_once_more_with_the_caller_s_own_cap() -> None:
    ran = carry_out(
        plan(
            crowd(answer_tokens=2000, max_tokens=4096),
            provider(tokens(100_000)),
            goes="relay",
            profile=Profile(answer_cap=True),
            recorded=Recorded(count=100, tokens=300),
        )
    )
    assert (ran.figures.starts, ran.figures.done) == (2, 1)
    assert ran.figures.charged_tokens == (100 + 380) + (100 + 4096)
    assert ran.figures.billed_tokens == (100 + 380) + (100 + 2000)


def test_another_charge_rule_is_another_ledger() -> None:
    work = crowd(clients=10, answer_tokens=10, max_tokens=900, prompt_tokens=[100])
    upstream = provider(tokens(2_000))
    keeps, settles = (
        carry_out(plan(work, upstream, goes="relay", profile=Profile(charge_rule=rule)))
        for rule in (ChargeRule.PROMPT_PLUS_MAX, ChargeRule.RESERVE_AND_SETTLE)
    )
    assert (keeps.figures.refusals, settles.figures.refusals > 0) == (0, True)
