from __future__ import annotations

import pytest

from scheduling.planner.ruler import FixedWindow, Gauge, SlidingWindow, gauges
from tests.scheduling.planner.plans import requests, tokens

S = 1_000_000


@pytest.mark.parametrize(
    ("window", "at_s", "used"),
    [
        (FixedWindow, 59.9, 3),
        (FixedWindow, 60, 0),
        (SlidingWindow, 60, 3),  # (t − W, t]: charged at 10, 20 and 30
        (SlidingWindow, 69.9, 3),
        (SlidingWindow, 70, 2),
        (SlidingWindow, 90, 0),
    ],
)
def test_a_fixed_window_empties_at_once_and_a_sliding_one_bit_by_bit(
    window: type[FixedWindow | SlidingWindow], at_s: float, used: int
) -> None:
    counter = window(60 * S)
    for charged_s in (10, 20, 30):
        counter.charge(1, charged_s * S)
    assert counter.used(round(at_s * S)) == used


@pytest.mark.parametrize(("window", "room_s"), [(FixedWindow, 60), (SlidingWindow, 80)])
def test_room_is_told_for_the_moment_at_which_enough_has_left(
    window: type[FixedWindow | SlidingWindow], room_s: int
) -> None:
    gauge = Gauge("tokens", "tokens", 100, window(60 * S))
    for charged_s in (10, 20, 30):
        gauge.counter.charge(30, charged_s * S)
    assert gauge.room_at(10, 40 * S) == 40 * S
    assert gauge.room_at(70, 40 * S) == room_s * S


@pytest.mark.parametrize(("window", "late_s"), [(FixedWindow, 60), (SlidingWindow, 70)])
def test_what_is_given_back_counts_only_while_the_charge_does(
    window: type[FixedWindow | SlidingWindow], late_s: int
) -> None:
    counter = window(60 * S)
    entry = counter.charge(100, 10 * S)
    counter.give_back(entry, 60, 20 * S)
    assert counter.used(20 * S) == 40
    counter.give_back(entry, 40, late_s * S)
    assert counter.used(late_s * S) == 0


def test_a_sliced_limit_is_two_the_slice_first() -> None:
    found = gauges([tokens(300_000), requests(300, slice_s=1)])
    assert [(gauge.name, gauge.limit) for gauge in found] == [
        ("5 requests / 1 s", 5),
        ("300,000 tokens / 60 s", 300_000),
        ("300 requests / 60 s", 300),
    ]


def test_a_scaled_limit_is_measured_against_what_was_written() -> None:
    gauge = gauges([requests(20, 1)])[0]
    gauge.scale(0.5)
    assert gauge.limit == 10
    gauge.counter.charge(5, 0)
    assert gauge.fill(0) == 0.5
    gauge.scale(1)
    assert gauge.limit == 20
