"""The small parts: order, windows, pacer, calendar periods, percentiles, come-back slots."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.core.moment import FAR_US, MINUTE_US, Moment
from scheduling.core.order import Order
from scheduling.core.pacer import Pacer
from scheduling.core.periods import period_bounds
from scheduling.core.sample import Sample
from scheduling.core.slots import SLOTS_AHEAD, ComeBackSlots
from scheduling.core.windows import COUNTERS, CalendarWindow, SlidingWindow
from tests.scheduling.relays import S

HOUR_US = 3600 * S


def at(us: int) -> Moment:
    return Moment(us, us)


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 20)), max_size=60))
def test_an_order_is_what_sorting_would_give(changes: list[tuple[int, int | None]]) -> None:
    order: Order[int] = Order()
    plain: dict[int, tuple[int, int]] = {}
    for item, key in changes:
        if key is None:
            order.drop(item)
            plain.pop(item, None)
        else:
            order.put(item, (key, item))
            plain[item] = (key, item)
        assert list(order) == sorted(plain, key=lambda one: plain[one])
        assert order.first() == min(plain, key=lambda one: plain[one], default=None)
        assert len(order) == len(plain)


def test_a_charge_leaves_a_sliding_window_exactly_after_its_length() -> None:
    window = SlidingWindow(60 * S)
    window.add(70, at(5 * S))
    assert window.used(at(65 * S - 1)) == 70
    assert window.used(at(65 * S)) == 0


def test_the_earliest_start_is_when_enough_has_left() -> None:
    window = SlidingWindow(60 * S)
    for second in (1, 2, 3):
        window.add(30, at(second * S))
    now = at(10 * S)
    assert window.earliest(10, 100, now) == now.us
    assert window.earliest(11, 100, now) == 61 * S
    assert window.earliest(41, 100, now) == 62 * S
    assert window.earliest(100, 100, now) == 63 * S
    assert window.earliest(101, 100, now) == FAR_US
    assert window.earliest(41, 100, now, forgiven=30) == 61 * S


def test_a_correction_moves_the_total_by_its_own_difference_and_never_below_zero() -> None:
    window = SlidingWindow(60 * S)
    first = window.add(50, at(S))
    second = window.add(20, at(S))  # the same microsecond
    window.adjust(first, -40)
    window.adjust(second, -15)
    assert window.used(at(2 * S)) == 15
    window.adjust(first, -1000)
    assert window.used(at(2 * S)) == 0


def test_correcting_a_charge_that_has_left_changes_nothing() -> None:
    window = SlidingWindow(60 * S)
    stamp = window.add(50, at(0))
    window.add(7, at(61 * S))
    assert window.used(at(61 * S)) == 7
    window.adjust(stamp, -50)
    assert window.used(at(61 * S)) == 7


@given(
    st.lists(st.tuples(st.integers(0, 3 * 3600), st.integers(1, 9)), min_size=1, max_size=60), st.integers(0, 90_000)
)
def test_a_long_window_counts_at_least_what_is_in_it(charges: list[tuple[int, int]], later_s: int) -> None:
    window = SlidingWindow(24 * HOUR_US)
    charges.sort()
    for second, amount in charges:
        window.add(amount, at(second * S))
    now_s = charges[-1][0] + later_s
    truth = sum(amount for second, amount in charges if now_s - 24 * 3600 < second <= now_s)
    late = sum(amount for second, amount in charges if now_s - 24 * 3600 - 61 < second <= now_s)
    assert truth <= window.used(at(now_s * S)) <= late


def test_a_long_window_keeps_few_counters() -> None:
    window = SlidingWindow(24 * HOUR_US)
    for second in range(0, 48 * 3600, 20):
        window.add(1, at(second * S))
        window.used(at(second * S))
    assert len(window._amounts) <= COUNTERS


BOUNDS = [
    # moment (UTC), period, zone, start (local), end (local)
    ("2026-07-01T06:59:59", "day", "America/Los_Angeles", "2026-06-30", "2026-07-01"),
    ("2026-07-01T07:00:00", "day", "America/Los_Angeles", "2026-07-01", "2026-07-02"),
    ("2026-12-01T07:59:59", "day", "America/Los_Angeles", "2026-11-30", "2026-12-01"),
    ("2026-03-08T12:00:00", "day", "America/Los_Angeles", "2026-03-08", "2026-03-09"),  # 23 hours
    ("2026-11-01T12:00:00", "day", "America/Los_Angeles", "2026-11-01", "2026-11-02"),  # 25 hours
    ("2026-10-04T12:00:00", "week", "UTC", "2026-09-28", "2026-10-05"),
    ("2026-02-28T23:00:00", "month", "Asia/Seoul", "2026-03-01", "2026-04-01"),
    ("2026-12-31T12:00:00", "month", "UTC", "2026-12-01", "2027-01-01"),
    ("2026-05-05T18:29:59", "day", "Asia/Kolkata", "2026-05-05", "2026-05-06"),  # half an hour off
    ("2026-05-05T18:30:00", "day", "Asia/Kolkata", "2026-05-06", "2026-05-07"),
]


@pytest.mark.parametrize(("moment", "period", "zone", "start", "end"), BOUNDS)
def test_calendar_periods_begin_and_end_at_local_midnight(
    moment: str, period: str, zone: str, start: str, end: str
) -> None:
    wall_us = _epoch_us(datetime.fromisoformat(moment).replace(tzinfo=UTC))
    expected = tuple(_epoch_us(datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))) for day in (start, end))
    assert period_bounds(wall_us, period, zone) == expected


def test_an_unknown_period_is_named() -> None:
    with pytest.raises(ValueError, match="fortnight"):
        period_bounds(0, "fortnight", "UTC")


def _epoch_us(moment: datetime) -> int:
    return round(moment.timestamp()) * S


def test_a_calendar_window_opens_5_s_after_the_reset_and_counts_those_seconds_twice() -> None:
    day_us = 24 * HOUR_US
    window = CalendarWindow("day", "UTC")
    window.add(10, at(day_us - HOUR_US))
    assert window.earliest(1, 10, at(day_us - HOUR_US)) == day_us + 5 * S
    assert window.used(at(day_us + 4 * S)) == 10
    window.add(3, at(day_us + 4 * S))
    assert window.used(at(day_us + 4 * S)) == 13
    assert window.used(at(day_us + 5 * S)) == 3
    assert window.earliest(8, 10, at(day_us + 6 * S)) == 2 * day_us + 5 * S


def test_a_pacer_with_burst_1_spaces_starts_evenly() -> None:
    pacer = Pacer(interval_us=10 * S, burst=1)
    times = []
    now_us = 100 * S
    for number in range(5):
        now_us = max(now_us, pacer.earliest())
        pacer.start(number, now_us)
        times.append(now_us)
    assert times == [100 * S, 110 * S, 120 * S, 130 * S, 140 * S]


def test_a_burst_is_spent_and_comes_back() -> None:
    pacer = Pacer(interval_us=10 * S, burst=3)
    for number in range(3):
        assert pacer.earliest() <= 100 * S
        pacer.start(number, 100 * S)
    assert pacer.earliest() == 110 * S
    assert pacer.earliest() <= 160 * S


def test_an_unsent_start_moves_the_next_back_only_if_it_was_the_last() -> None:
    pacer = Pacer(interval_us=10 * S, burst=1)
    pacer.start(1, 100 * S)
    pacer.start(2, 110 * S)
    pacer.forget(1)
    assert pacer.earliest() == 120 * S
    pacer.forget(2)
    assert pacer.earliest() == 110 * S
    pacer.forget(2)
    assert pacer.earliest() == 110 * S


def test_a_retuned_pacer_spaces_from_the_last_start_on() -> None:
    pacer = Pacer(interval_us=10 * S, burst=1)
    pacer.start(1, 100 * S)
    pacer.retune(4 * S, 1)
    assert pacer.earliest() == 104 * S
    pacer.retune(30 * S, 1)
    assert pacer.earliest() == 130 * S


def test_percentiles_are_of_the_last_values_and_may_be_of_those_above() -> None:
    sample = Sample()
    assert sample.percentile(50) is None
    for value in [1000] * 3 + list(range(1, 65)):
        sample.add(value)
    assert len(sample) == 64
    assert sample.percentile(50) == 32
    assert sample.percentile(90) == 57
    assert sample.percentile(50, above=60) == 62
    assert sample.percentile(50, above=64) is None


def test_each_refused_caller_gets_the_next_slot_and_slots_expire_unused() -> None:
    slots = ComeBackSlots()
    assert [slots.take(10 * S, 2 * S) for _ in range(3)] == [10 * S, 12 * S, 14 * S]
    assert slots.take(15 * S, 2 * S) == 16 * S
    assert slots.take(100 * S, 2 * S) == 100 * S


def test_a_caller_who_keeps_coming_back_early_cannot_push_the_slots_away_without_end() -> None:
    slots = ComeBackSlots()
    last = max(slots.take(10 * S, S) for _ in range(5000))
    assert last == 10 * S + SLOTS_AHEAD * S


def test_a_window_of_a_minute_is_exact() -> None:
    assert SlidingWindow(MINUTE_US)._grain_us == 1
