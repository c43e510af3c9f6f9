from __future__ import annotations

import pytest

from scheduling.core.adaptive import AdaptiveRate, configured_per_s, with_rate
from scheduling.core.spec import Measure, WindowKind, WindowMode
from tests.scheduling.relays import S, rpm, rules, tpm

TEN_A_SECOND = 10.0


def test_it_begins_at_the_configured_limit_and_never_passes_it() -> None:
    rate = AdaptiveRate(TEN_A_SECOND)
    for _ in range(10_000):
        rate.served()
    assert rate.rate_per_s == TEN_A_SECOND


def test_a_refusal_lowers_it_by_a_tenth() -> None:
    rate = AdaptiveRate(TEN_A_SECOND)
    rate.refused(started_us=5, now_us=10)
    assert rate.rate_per_s == pytest.approx(9)


def test_those_who_were_on_their_way_at_the_cut_lower_nothing_more() -> None:
    rate = AdaptiveRate(TEN_A_SECOND)
    for started_us in (5, 6, 10):
        rate.refused(started_us, now_us=10)
    assert rate.rate_per_s == pytest.approx(9)
    rate.refused(started_us=11, now_us=12)
    assert rate.rate_per_s == pytest.approx(8.1)


def test_it_comes_back_to_where_it_was_refused_after_four_hundred_starts() -> None:
    rate = AdaptiveRate(20)
    rate.refused(started_us=0, now_us=1)
    climbed = []
    for _ in range(400):
        rate.served()
        climbed.append(rate.rate_per_s)
    assert climbed == sorted(climbed)
    assert climbed[100] > 19, "fast at first"
    assert climbed[-1] == pytest.approx(20, abs=0.01)


def test_it_finds_a_limit_that_has_doubled_within_three_units() -> None:
    rate = AdaptiveRate(40)
    for moment in range(1, 9):
        rate.refused(started_us=moment, now_us=moment)
    low = rate.rate_per_s
    for _ in range(1_250):
        rate.served()
    assert rate.rate_per_s > 1.8 * low


def test_it_never_stands_still() -> None:
    rate = AdaptiveRate(TEN_A_SECOND)
    for moment in range(1, 200):
        rate.refused(started_us=moment, now_us=moment)
    assert rate.rate_per_s == 0.1


def test_a_slow_one_does_not_wait_four_hundred_starts() -> None:
    rate = AdaptiveRate(0.5)
    rate.refused(started_us=0, now_us=1)
    for _ in range(150):  # five minutes of them
        rate.served()
    assert rate.rate_per_s == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("true_per_s", [10.0, 13.7, 20.0])
def test_a_steady_limit_is_used_and_hardly_ever_passed(true_per_s: float) -> None:
    """A provider that refuses whatever is faster than `true_per_s`: the oracle."""
    rate, now_us, refused, started, used = AdaptiveRate(30), 0, 0, 0, []
    while now_us < 1_200 * S:
        now_us += round(S / rate.rate_per_s)
        if rate.rate_per_s > true_per_s:
            rate.refused(now_us, now_us)
            refused += now_us > 60 * S
        else:
            rate.served()
        started += now_us > 60 * S
        used.append(rate.rate_per_s)
    assert refused / started < 0.005
    assert sum(used[2_000:]) / len(used[2_000:]) > 0.9 * true_per_s


@pytest.mark.parametrize(
    ("windows", "per_s"),
    [
        ((rpm(600),), 10),
        ((rpm(600), rpm(5, window_us=S)), 5),
        ((tpm(600),), None),
        ((rpm(600, kind=WindowKind.CALENDAR, period="day", zone="UTC"),), None),
        ((rpm(600, mode=WindowMode.ESTIMATE),), None),
    ],
)
def test_the_configured_limit_is_the_tightest_window_of_requests(windows: tuple, per_s: float | None) -> None:  # type: ignore[type-arg]
    assert configured_per_s(rules(windows=windows)) == per_s


def test_a_rate_is_one_more_window() -> None:
    changed = with_rate(rules(windows=(rpm(600), tpm(1_000))), 7.39)
    assert [(one.measure, one.limit, one.window_us) for one in changed.windows] == [
        (Measure.REQUESTS, 600, 60 * S),
        (Measure.TOTAL_TOKENS, 1_000, 60 * S),
        (Measure.REQUESTS, 73, 10 * S),
    ]


def test_a_rate_takes_the_place_of_a_window_of_the_same_length() -> None:
    changed = with_rate(rules(windows=(rpm(100, window_us=10 * S),)), 0.1)
    assert [(one.limit, one.window_us) for one in changed.windows] == [(1, 10 * S)]
