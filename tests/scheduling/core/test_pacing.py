"""Pacers, ledgers and the provider's ruler."""

from __future__ import annotations

from itertools import pairwise

import pytest

from scheduling.core.spec import ChargeRule, Measure, WindowKind, WindowMode, WindowSpec
from tests.scheduling.relays import START_US, Bench, S, provider, relay, rpm, rules, tpm

Rule = ChargeRule


def paced(*windows: WindowSpec, **changes) -> Bench:
    usual = {"lanes": 1000, "max_waiting": 500, "wait_timeout_us": 3600 * S}
    return Bench(relay(provider(of=rules(**{**usual, "windows": windows, **changes}))))


def used(bench: Bench, measure: Measure = Measure.TOTAL_TOKENS) -> int:
    axis = next(one for one in bench.core.state.providers["p"].axes.values() if one.measure is measure)
    return axis.window.used(bench.now)


def seconds(bench: Bench) -> list[float]:
    return list(bench.start_times.values())


def test_consecutive_starts_are_exactly_evenly_spaced() -> None:
    bench = paced(rpm(12))
    for _ in range(30):
        bench.ask()
    bench.pass_time(150)
    assert {round(later - earlier, 6) for earlier, later in pairwise(seconds(bench))} == {5.0}
    assert len(bench.started) == 30


def test_the_guard_lengthens_the_spacing_and_the_window() -> None:
    bench = paced(rpm(60, window_us=S), guard_us=30_000)
    for _ in range(120):
        bench.ask()
    bench.pass_time(5)
    gaps = {round((later - earlier) * S) for earlier, later in pairwise(seconds(bench))}
    assert gaps == {17_167}  # (1 s + 30 ms) / 60, rounded up
    assert 58 <= sum(1 for at in seconds(bench) if 1 <= at < 2) <= 59


@pytest.mark.parametrize(("burst", "at_once"), [(1, 1), (4, 4), (10, 10), (50, 10)])
def test_a_burst_starts_at_once_but_at_most_a_sixth_of_the_minute(burst: int, at_once: int) -> None:
    bench = paced(rpm(60), burst=burst)
    for _ in range(90):
        bench.ask()
    assert len(bench.started) == at_once
    bench.pass_time(59.999)
    assert len(bench.started) == 60
    bench.pass_time(60)
    times = seconds(bench)
    assert all(sum(1 for one in times if at - 60 < one <= at) <= 60 for at in times)


def test_a_burst_never_exceeds_the_slice_the_provider_judges() -> None:
    bench = paced(rpm(300, slice_us=S), burst=50)
    for _ in range(60):
        bench.ask()
    assert len(bench.started) == 5
    bench.pass_time(20)
    times = seconds(bench)
    assert all(sum(1 for one in times if at - 1 < one <= at) <= 5 for at in times)


def test_a_providers_clock_minute_is_kept_wherever_it_is_cut() -> None:
    bench = paced(rpm(7, kind=WindowKind.FIXED), burst=1)
    for number in range(40):
        bench.pass_time(number % 3)
        bench.ask()
    bench.pass_time(400)
    times = seconds(bench)
    assert all(sum(1 for one in times if at - 60 < one <= at) <= 7 for at in times)


def test_tokens_full_makes_it_wait_though_requests_have_room() -> None:
    bench = paced(rpm(6000), tpm(1000))
    first = bench.tokens(900, 50)
    bench.pass_time(10)
    second = bench.tokens(100, 50)
    assert second in bench.waiting
    assert bench.core.state.models["p/m"].pool.blocked[bench.core.state.models["p/m"]].reason == "tokens"
    bench.pass_time(49.9)
    assert second in bench.waiting
    bench.pass_time(0.1)
    assert second in bench.running
    assert first in bench.running


def test_cancelled_while_waiting_leaves_no_trace() -> None:
    bench = paced(rpm(6), tpm(1000))
    bench.tokens(10, 10)
    before = (used(bench), used(bench, Measure.REQUESTS))
    waiting = bench.tokens(500, 400)
    bench.cancel(waiting)
    assert (used(bench), used(bench, Measure.REQUESTS)) == before
    following = bench.tokens(10, 10)
    bench.pass_time(10)
    assert bench.start_times[following] == 10.0


def test_cancelled_before_it_was_sent_leaves_no_trace_either() -> None:
    bench = paced(rpm(6), tpm(1000))
    unsent = bench.tokens(500, 400)
    assert unsent in bench.running
    bench.cancel(unsent)
    assert (used(bench), used(bench, Measure.REQUESTS)) == (0, 0)
    assert bench.tokens(500, 400) in bench.running


def test_the_next_start_moves_back_only_if_the_unsent_one_was_the_last() -> None:
    bench = paced(rpm(6))
    first = bench.ask()
    bench.pass_time(10)
    second, third = bench.ask(), bench.ask()
    assert second in bench.running
    bench.cancel(first)
    bench.pass_time(5)
    assert third in bench.waiting
    bench.cancel(second)
    assert third in bench.running


def test_two_concurrent_corrections_do_not_mix() -> None:
    bench = paced(tpm(1000))
    first, second = bench.tokens(100, 300), bench.tokens(50, 250)
    assert used(bench) == 700
    bench.settle(first, prompt_tokens=100, completion_tokens=10)
    bench.settle(second, prompt_tokens=50, completion_tokens=20)
    bench.settle(first, prompt_tokens=0, completion_tokens=0)  # the first settle counts
    assert used(bench) == 110 + 70
    bench.end(second)
    bench.end(first)
    assert used(bench) == 180


def _five_of_25_000(rule: ChargeRule) -> tuple[Bench, list[str]]:
    bench = paced(tpm(100_000), charge_rule=rule)
    ids = []
    for _ in range(5):
        ids.append(bench.tokens(15_000, 10_000))
        bench.pass_time(2)
    assert bench.running == set(ids[:4])
    return bench, ids


def test_four_of_25_000_fit_100_000_and_the_fifth_waits_until_the_first_leaves_the_window() -> None:
    bench, ids = _five_of_25_000(Rule.RESERVE_AND_SETTLE)
    bench.pass_time(49.999)
    assert ids[4] in bench.waiting
    bench.pass_time(0.001)
    assert bench.start_times[ids[4]] == 60.0


def test_if_the_four_settle_short_the_fifth_starts_earlier() -> None:
    bench, ids = _five_of_25_000(Rule.RESERVE_AND_SETTLE)
    for ticket in ids[:4]:
        bench.end(ticket, prompt_tokens=15_000, completion_tokens=2_000)
    assert bench.start_times[ids[4]] == 10.0


def test_tokens_given_back_are_there_at_the_settle_even_before_the_release() -> None:
    bench, ids = _five_of_25_000(Rule.RESERVE_AND_SETTLE)
    bench.settle(ids[0], prompt_tokens=15_000, completion_tokens=2_000)
    assert ids[4] in bench.waiting
    for ticket in ids[1:4]:
        bench.settle(ticket, prompt_tokens=15_000, completion_tokens=2_000)
    assert ids[4] in bench.running
    assert set(ids) == bench.running


def test_under_prompt_plus_max_nothing_is_given_back() -> None:
    bench, ids = _five_of_25_000(Rule.PROMPT_PLUS_MAX)
    for ticket in ids[:4]:
        bench.end(ticket, prompt_tokens=15_000, completion_tokens=2_000)
    assert ids[4] in bench.waiting
    bench.pass_time(50)
    assert bench.start_times[ids[4]] == 60.0


def test_calendar_windows_reopen_5_s_after_the_reset() -> None:
    window = WindowSpec(Measure.REQUESTS, 2, WindowKind.CALENDAR, period="day", zone="UTC")
    bench = paced(window, wait_timeout_us=2 * 86_400 * S)
    ids = [bench.ask() for _ in range(3)]
    assert bench.running == set(ids[:2])
    day_us = 86_400 * S
    reset_us = START_US + day_us - bench.now.wall_us % day_us
    bench.pass_time((reset_us - bench.now_us) / S + 4.9)
    assert ids[2] in bench.waiting
    bench.pass_time(0.1)
    assert ids[2] in bench.running


def test_a_day_long_window_is_counted_but_not_spread_over_the_day() -> None:
    bench = paced(rpm(100, window_us=86_400 * S), wait_timeout_us=2 * 86_400 * S)
    ids = [bench.ask() for _ in range(101)]
    assert bench.running == set(ids[:100])
    bench.pass_time(86_400 + 61)
    assert ids[100] in bench.running


def test_estimates_are_counted_and_never_delay() -> None:
    bench = paced(rpm(2, mode=WindowMode.ESTIMATE), tpm(10, mode=WindowMode.ESTIMATE))
    for _ in range(5):
        bench.tokens(100, 10)
    assert len(bench.running) == 5
    assert used(bench) == 550
