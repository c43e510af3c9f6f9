"""Faults over a window keep requests away for a while; a single one never does."""

from __future__ import annotations

from relay_project.quota.breaker import Breaker

S = 1_000_000
T0 = 1_000 * S


def fail(breaker: Breaker, times: int, at_us: int = T0) -> list[int | None]:
    return [breaker.failed(at_us + number) for number in range(times)]


def test_four_faults_open_nothing_and_the_fifth_does() -> None:
    breaker = Breaker()
    assert fail(breaker, 4) == [None] * 4
    assert breaker.failed(T0 + 4) == T0 + 4 + 10 * S


def test_faults_far_apart_open_nothing() -> None:
    breaker = Breaker()
    assert [breaker.failed(T0 + number * 10 * S) for number in range(20)] == [None] * 20


def test_a_success_makes_the_faults_before_it_forgotten() -> None:
    breaker = Breaker()
    fail(breaker, 4)
    breaker.succeeded(T0 + 5)
    assert breaker.failed(T0 + 6) is None


def test_it_stays_open_twice_as_long_each_time_it_opens_again_up_to_two_minutes() -> None:
    breaker = Breaker()
    now, lengths = T0, []
    for _ in range(6):
        until = next(until for until in fail(breaker, 5, now) if until is not None)
        lengths.append(round((until - now) / S))
        now = until + S
    assert lengths == [10, 20, 40, 80, 120, 120]


def test_after_a_calm_minute_it_begins_anew() -> None:
    breaker = Breaker()
    first = fail(breaker, 5)[-1]
    assert first is not None
    later = first + 61 * S
    assert breaker.is_idle(later + 1)
    assert fail(breaker, 5, later)[-1] == later + 4 + 10 * S
