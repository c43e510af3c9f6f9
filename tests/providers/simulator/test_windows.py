"""Windows as tables: what happened, when it is asked, how long to wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.calendar import days_in
from providers.simulator.limits.windows import Bucket, FixedWindow, SlidingWindow, Window, every

S = SECOND_US
MINUTE = 60 * S


def sliding() -> Window:
    return SlidingWindow(10, MINUTE)


def fixed() -> Window:
    return FixedWindow(10, every(MINUTE))


def bucket() -> Window:
    return Bucket(10, MINUTE)


@pytest.mark.parametrize(
    ("make", "history", "now_us", "amount", "wait_us"),
    [
        (sliding, [], 0, 10, 0),
        (sliding, [], 0, 11, None),
        (sliding, [(0, 10)], 59 * S, 1, 1 * S),
        (sliding, [(0, 10)], 60 * S, 10, 0),  # half-open: what happened a window ago has left
        (sliding, [(0, 5), (20 * S, 5)], 30 * S, 5, 30 * S),
        (sliding, [(0, 5), (20 * S, 5)], 30 * S, 6, 50 * S),
        (fixed, [(59 * S, 10)], 59 * S, 1, 1 * S),
        (fixed, [(59 * S, 10)], 60 * S, 10, 0),
        (fixed, [(30 * S, 4)], 40 * S, 6, 0),
        (fixed, [(30 * S, 4)], 40 * S, 7, 20 * S),
        (fixed, [], 0, 11, None),
        (bucket, [(0, 10)], 0, 1, 6 * S),
        (bucket, [(0, 10)], 6 * S, 1, 0),
        (bucket, [(0, 10)], 30 * S, 10, 30 * S),
        (bucket, [], 0, 11, None),
    ],
)
def test_a_window_tells_the_wait(make, history, now_us, amount, wait_us):
    window = make()
    for at_us, used in history:
        window.add(at_us, used)
    assert window.wait_us(now_us, amount) == wait_us


@pytest.mark.parametrize(
    ("limit", "used", "asked", "span_s", "hint_s"),
    [  # refusals that OpenAI and Groq sent
        (10_000, 8_782, 8_172, 60, 41.724),
        (100_000, 96_604, 9_985, 86_400, 5_692.896),
        (200_000, 199_956, 3_534, 86_400, 1_507.68),
        (200, 200, 1, 86_400, 432.0),
    ],
)
def test_a_bucket_gives_the_wait_that_providers_print(limit, used, asked, span_s, hint_s):
    bucket = Bucket(limit, span_s * S)
    bucket.add(0, used)
    assert bucket.wait_us(0, asked) == round(hint_s * S)


@pytest.mark.parametrize("make", [sliding, fixed, bucket])
def test_a_refund_makes_room_and_never_goes_below_nought(make):
    window = make()
    entry = window.add(10 * S, 8)
    window.correct(entry, 10 * S, 3)
    assert window.used(10 * S) == 3
    window.correct(entry, 10 * S, 0)
    assert window.used(10 * S) == 0


@pytest.mark.parametrize("make", [sliding, fixed])
def test_settling_what_has_left_the_window_changes_nothing(make):
    window = make()
    old = window.add(10 * S, 8)
    window.add(75 * S, 4)
    window.correct(old, 75 * S, 0)
    assert window.used(75 * S) == 4


@pytest.mark.parametrize("make", [sliding, fixed, bucket])
def test_a_halved_limit_acts_on_what_was_already_used(make):
    window = make()
    window.add(0, 5)
    window.change_limit(0, 5)
    assert window.wait_us(0, 1) > 0
    window.change_limit(0, 10)
    assert window.wait_us(0, 5) == 0


@pytest.mark.parametrize(
    ("day", "hours"),
    [((2026, 7, 1), 24), ((2026, 3, 8), 23), ((2026, 11, 1), 25)],  # the second and third change summer time
)
def test_a_pacific_day_has_23_24_or_25_hours(day, hours):
    noon = int(datetime(*day, 20, tzinfo=UTC).timestamp())
    start_us, end_us = days_in("America/Los_Angeles", noon)(0)
    assert start_us < 0 < end_us
    assert end_us - start_us == hours * 3600 * S
