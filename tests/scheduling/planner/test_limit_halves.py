"""20 starts a second are configured; the provider takes 10 from 60 s to 420 s, and says nothing of it."""

from __future__ import annotations

import bisect

from tests.scheduling.planner.plans import ran

HALVES_S, RETURNS_S, ENDS_S = 60, 420, 740
WITHIN_REFUSED_S, WITHIN_THROUGHPUT_S = 120, 300


def in_minute_before(times_us: list[int], at_s: int) -> int:
    return bisect.bisect_right(times_us, at_s * 1_000_000) - bisect.bisect_right(times_us, (at_s - 60) * 1_000_000)


def refused_share(row: str, at_s: int) -> float:
    journal = ran("limit-halves", row).journal
    refused = in_minute_before([at_us for at_us, _ in journal.refusals], at_s)
    return refused / (refused + in_minute_before(journal.started_us, at_s))


def starts_per_s(row: str, at_s: int) -> float:
    return in_minute_before(ran("limit-halves", row).journal.started_us, at_s) / 60


def test_within_two_minutes_hardly_anything_is_refused_and_it_stays_so() -> None:
    assert refused_share("adaptive", HALVES_S + 30) > 0.005, "it was felt"
    shares = [refused_share("adaptive", at_s) for at_s in range(HALVES_S + WITHIN_REFUSED_S, ENDS_S)]
    assert max(shares) < 0.005


def test_the_halved_limit_is_used_to_nine_tenths() -> None:
    rates = [starts_per_s("adaptive", at_s) for at_s in range(HALVES_S + WITHIN_THROUGHPUT_S, RETURNS_S)]
    assert min(rates) >= 9


def test_the_returned_limit_is_used_to_nine_tenths_within_five_minutes() -> None:
    rates = [starts_per_s("adaptive", at_s) for at_s in range(RETURNS_S + WITHIN_THROUGHPUT_S, ENDS_S)]
    assert min(rates) >= 18


def test_who_does_not_adapt_goes_on_being_refused() -> None:
    assert refused_share("fixed", HALVES_S + WITHIN_REFUSED_S) > 0.02
