"""Waiting ends: at the profile's limit, at the caller's own, or at once if it certainly would be in vain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.core.outcomes import Left
from scheduling.core.spec import ChargeRule, Class
from tests.scheduling.relays import Bench, S, provider, relay, rpm, rules, tpm


def taken(**changes) -> Bench:
    """One lane, held by a call that does not end."""
    bench = Bench(relay(provider(of=rules(**{"lanes": 1, **changes}))))
    bench.ask(flow="user:holder")
    return bench


def test_the_missing_line_ends_with_the_lines_limit_and_not_the_calls() -> None:
    """A check of 3 s holds the one lane, the line's limit is 2 s: who waits is told so, with queue_us = the limit."""
    bench = taken(wait_timeout_us=2 * S, run_timeout_us=300 * S)
    call, test_call = bench.ask(klass=Class.INTERACTIVE), bench.ask(klass=Class.NORMAL, purpose="test")
    bench.pass_time(3)
    for ticket in (call, test_call):
        left = bench.left(ticket)
        assert left.code == "provider_queue_timeout"
        assert left.told.queue_us == 2 * S
        assert left.told.pace_us == 0
        assert left.told.retry_after_us >= S
        assert left.told.reason == "provider"
    assert not bench.waiting


def test_100_waiting_with_1_s_are_none_after_2_s() -> None:
    bench = taken(wait_timeout_us=1 * S, max_waiting=100)
    for number in range(100):
        bench.ask(flow=f"user:{number % 9}")
    assert len(bench.waiting) == 100
    bench.pass_time(2)
    assert not bench.waiting


def test_the_callers_own_limit_ends_the_wait_earlier_but_never_later() -> None:
    bench = taken(wait_timeout_us=10 * S)
    short, long = bench.ask(max_wait_us=3 * S), bench.ask(max_wait_us=100 * S)
    bench.pass_time(3)
    assert bench.left(short).told.queue_us == 3 * S
    assert long in bench.waiting
    bench.pass_time(7)
    assert bench.left(long).told.queue_us == 10 * S


def test_who_does_not_want_to_wait_starts_or_leaves_at_once() -> None:
    bench = taken()
    assert bench.left(bench.ask(max_wait_us=0)).code == "provider_queue_timeout"
    bench.end(bench.started[0])
    assert bench.ask(max_wait_us=0) in bench.running


def test_a_place_that_is_free_at_the_very_deadline_is_still_taken() -> None:
    bench = Bench(relay(provider(of=rules(windows=(rpm(6),), wait_timeout_us=10 * S))))
    bench.ask()
    second = bench.ask()
    bench.pass_time(10)
    assert second in bench.running


CERTAIN = [
    # windows, already started (prompt tokens each), own tokens, own limit in s, refused now?, told in s
    ((rpm(1),), [1], 1, 59, True, 60),
    ((rpm(1),), [1], 1, 60, False, None),
    ((rpm(2),), [1], 1, 29, True, 30),
]


@pytest.mark.parametrize(("windows", "started", "own", "limit_s", "refused", "told_s"), CERTAIN)
def test_certainly_too_late_is_said_at_once(windows, started, own, limit_s, refused, told_s) -> None:
    bench = Bench(relay(provider(of=rules(windows=windows, wait_timeout_us=600 * S))))
    for tokens in started:
        bench.end(bench.tokens(tokens))
    ticket = bench.tokens(own, max_wait_us=limit_s * S)
    assert bench.has_left(ticket) is refused
    if refused:
        left = bench.left(ticket)
        assert (left.code, left.told.queue_us) == ("provider_queue_timeout", 0)
        assert (left.told.retry_after_us, left.told.estimate) == (told_s * S, False)


def test_tokens_that_may_yet_be_given_back_are_no_certain_reason() -> None:
    refunds = rules(lanes=9, windows=(tpm(1000),), wait_timeout_us=30 * S)
    bench = Bench(relay(provider(of=refunds)))
    running = bench.tokens(100, 900)
    second = bench.tokens(100, 100)
    assert second in bench.waiting  # the first may settle short
    bench.end(running, prompt_tokens=100, completion_tokens=100)
    assert second in bench.running


def test_tokens_that_were_settled_are_a_certain_reason() -> None:
    bench = Bench(relay(provider(of=rules(lanes=9, windows=(tpm(1000),), wait_timeout_us=30 * S))))
    bench.end(bench.tokens(100, 900), prompt_tokens=100, completion_tokens=900)
    left = bench.left(bench.tokens(100, 100))
    assert (left.code, left.told.retry_after_us) == ("provider_queue_timeout", 60 * S)


def test_how_long_others_may_run_is_never_a_reason_to_refuse_early() -> None:
    bench = Bench(relay(provider(of=rules(lanes=1))))
    for _ in range(10):  # calls take 50 s, as far as is known
        slow = bench.ask()
        bench.now_us += 50 * S
        bench.end(slow)
    bench.ask()
    assert bench.ask(max_wait_us=1 * S) in bench.waiting


def test_a_shorter_limit_acts_on_those_who_wait() -> None:
    slow = provider(of=rules(lanes=1, wait_timeout_us=60 * S))
    bench = Bench(relay(slow))
    bench.ask()
    waiting = bench.ask()
    bench.pass_time(5)
    bench.configure(relay(provider(of=rules(lanes=1, wait_timeout_us=4 * S)), version=2))
    assert bench.left(waiting).code == "provider_queue_timeout"
    assert isinstance(bench.left(waiting), Left)


def test_every_timed_out_caller_is_told_a_time_of_its_own() -> None:
    bench = taken(wait_timeout_us=2 * S)
    ids = [bench.ask() for _ in range(8)]
    bench.pass_time(2)
    times = [bench.left(one).told.retry_after_us for one in ids]
    assert len(set(times)) == len(times)


def test_waiting_for_pace_is_told_apart_from_waiting_for_a_lane() -> None:
    paced = replace(rules(lanes=1), windows=(rpm(6),), charge_rule=ChargeRule.REQUESTS_ONLY)
    bench = Bench(relay(provider(of=paced)))
    first, second = bench.ask(), bench.ask()
    bench.pass_time(4)
    bench.end(first)  # 0 to 4 s: for the lane; 4 to 10 s: for pace
    bench.pass_time(20)
    grant = bench.grant(second)
    assert (grant.queue_us, grant.pace_us) == (10 * S, 6 * S)
