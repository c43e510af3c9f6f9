"""Every dress in which providers say when to come back."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import retry_after as ra
from providers.retry_after import Clock
from providers.retry_words import named_moment, relative_wait

NOON = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
SEOUL = ZoneInfo("Asia/Seoul")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("39s", 39),
        ("6m0s", 360),
        ("120ms", 0.12),
        ("7h12m0s", 25920),
        ("1h34m52.896s", 5692.896),
        ("1h2m3.5s", 3723.5),
        ("900.2ms", 0.9002),
        ("0.539477544s", 0.539477544),
        ("250µs", 0.00025),
        ("26 seconds", 26),
        ("1 second", 1),
        ("2 hours", 7200),
        ("2 hours and 15 minutes", 8100),
        ("1 day, 2 hours", 93600),
        ("3 weeks", 1814400),
        ("90 mins", 5400),
    ],
)
def test_durations(written: str, seconds: float) -> None:
    assert ra.parse_duration(written) == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize("written", ["", "soon", "12", "1 month", "5 apples", "s", "1h 2", "-5s", "1e9s", "١s"])
def test_what_is_no_duration(written: str) -> None:
    assert ra.parse_duration(written) is None


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("30", 30),
        ("7.66", 7.66),
        (30, 30),
        ("0", 0),
        ("-5", -5),
        ("55", 55),
        ("6m0s", 360),
        ("12ms", 0.012),
        ("1790856060", 60),  # epoch seconds
        ("1790856060000", 60),  # epoch milliseconds
        (1790856060, 60),
        ("2026-10-01T12:01:00Z", 60),
        ("2026-10-01T07:01:00-05:00", 60),
        ("2026-10-01T12:01:00", 60),  # no offset: UTC
        ("Thu, 01 Oct 2026 12:01:00 GMT", 60),
        ("Thursday, 01-Oct-26 12:01:00 GMT", 60),  # RFC 850
        ("Wed, 21 Oct 2015 07:28:00 GMT", -345443520),
    ],
)
def test_reset_values_tell_their_own_form(value: object, wait_s: float) -> None:
    clock = Clock(NOON)
    assert ra.distance_s(ra.parse_reset(value, clock), clock) == pytest.approx(wait_s, abs=1e-6)


@pytest.mark.parametrize(
    "value", ["", "soon", None, True, [], "nan", "inf", "9" * 400, 10**400, float("nan"), "Thu, 99 Foo 2026"]
)
def test_values_that_say_nothing(value: object) -> None:
    clock = Clock(NOON)
    assert ra.usable_wait(ra.distance_s(ra.parse_reset(value, clock), clock)) is None


@pytest.mark.parametrize(
    ("sentence", "seconds"),
    [
        ("Please try again in 1.4s. Visit the docs.", 1.4),
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 1m30.5s.", 90.5),
        ("Please retry after 26 seconds. Please go here", 26),
        ("Please retry after 2 hours.", 7200),
        ("please slow down and try again after 60.123456 seconds.", 60.123456),
        ("please try again after 1 seconds", 1),
        ("Please retry in 56.185908122s.", 56.185908122),
        ("Please wait 85841 seconds before retrying.", 85841),
        ("Your quota will reset after 1h43m56s.", 6236),
        ("quota exhausted; available again in 2 hours and 15 minutes", 8100),
        ("Try again in 1 hour.", 3600),
        ("请在 20 秒后重试", 20),
        ("retry in 5s; retry in 8s", 8),  # the longest rules
    ],
)
def test_waits_in_a_sentence(sentence: str, seconds: float) -> None:
    assert relative_wait(sentence) == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize(
    "sentence", ["Try again later.", "Try again in a minute", "Limit 30000, Used 29500", "takes 30s", "resets 3pm"]
)
def test_sentences_without_a_wait(sentence: str) -> None:
    assert relative_wait(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "zone", "moment"),
    [
        ("resets 3pm (Asia/Seoul)", None, "2026-10-02T06:00Z"),  # 15:00 KST has passed at 21:00 KST
        ("resets 11pm (Asia/Seoul)", None, "2026-10-01T14:00Z"),
        ("limit · resets 1:30am (Asia/Dhaka)", None, "2026-10-01T19:30Z"),
        ("weekly limit · resets Oct 3, 11pm (UTC)", None, "2026-10-03T23:00Z"),
        ("5-hour limit reached ∙ resets 2pm", UTC, "2026-10-01T14:00Z"),
        ("try again at 12:16 PM.", UTC, "2026-10-01T12:16Z"),
        ("try again at 12:16 AM.", UTC, "2026-10-02T00:16Z"),
        ("or try again at Oct 20th, 2026 11:50 AM.", SEOUL, "2026-10-20T02:50Z"),
        ("usage limit reached|1790859600", None, "2026-10-01T13:00Z"),
        ("You will regain access on 2026-11-01 at 00:00 UTC.", None, "2026-11-01T00:00Z"),
        ("您的限额将在 2026-10-02 18:08:11 重置。", ZoneInfo("Asia/Shanghai"), "2026-10-02T10:08:11Z"),
        ("reset at 2026-10-02T10:00:00+09:00", None, "2026-10-02T01:00Z"),
        ("resets Jan 2, 1am (UTC)", None, "2027-01-02T01:00Z"),  # the nearest year
        ("until 15:00 UTC", None, "2026-10-01T15:00Z"),
    ],
)
def test_moments_in_a_sentence(sentence: str, zone: ZoneInfo | None, moment: str) -> None:
    assert named_moment(sentence, Clock(NOON), zone) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "sentence",
    [
        "resets 3pm",  # whose three o'clock?
        "try again at 12:16 PM.",
        "resets 3pm (Atlantis/Capital)",
        "resets 25:00 (UTC)",
        "resets 13pm (UTC)",
        "resets Foo 3, 1am (UTC)",
        "resets Feb 31, 1am (UTC)",
        "on 2026-02-31 at 00:00 UTC",
        "+99:99 2026-10-02 10:00:00+99:99",
    ],
)
def test_a_moment_that_cannot_be_known_is_not_guessed(sentence: str) -> None:
    assert named_moment(sentence, Clock(NOON), None) is None


def test_a_clock_time_that_has_just_passed_is_not_tomorrows() -> None:
    moment = named_moment("resets 12pm (UTC)", Clock(NOON + timedelta(seconds=90)), None)
    assert moment == NOON


def test_without_any_clock_a_moment_has_no_distance() -> None:
    assert Clock(None).until(NOON) is None
    assert named_moment("resets 3pm (UTC)", Clock(None), None) is None


def test_a_skewed_clock_is_corrected_by_the_servers_own() -> None:
    ours = Clock(now=NOON, server_now=NOON - timedelta(seconds=90))
    named = NOON - timedelta(seconds=60)
    assert ours.until(named) == 30
    assert ours.on_ours(named) == NOON + timedelta(seconds=30)


def test_the_seconds_resolution_of_date_is_not_taken_for_skew() -> None:
    clock = Clock(now=NOON + timedelta(seconds=0.9), server_now=NOON)
    assert clock.on_ours(NOON + timedelta(hours=1)) == NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    ("after", "hours"),
    [
        ("2026-03-08T08:00Z", 23),  # midnight before the spring change in California
        ("2026-11-01T07:00Z", 25),  # and before the autumn change
        ("2026-07-01T07:00Z", 24),
    ],
)
def test_days_of_23_and_25_hours(after: str, hours: int) -> None:
    start = datetime.fromisoformat(after)
    assert ra.next_midnight("America/Los_Angeles", start) == start + timedelta(hours=hours)


@pytest.mark.parametrize(
    ("seconds", "ms"), [(2.114999999, 2115), (60.123456, 60124), (2750.112, 2750112), (0.9002, 901), (7, 7000)]
)
def test_milliseconds_are_rounded_up_but_not_by_float_noise(seconds: float, ms: int) -> None:
    assert ra.whole_ms(seconds) == ms


@given(st.floats() | st.none())
def test_only_positive_waits_of_at_most_400_days_are_usable(wait_s: float | None) -> None:
    usable = ra.usable_wait(wait_s)
    assert usable is None or (math.isfinite(usable) and 0 < usable <= 400 * 86400)


@given(st.text() | st.floats() | st.integers(), st.datetimes(timezones=st.just(UTC)))
def test_no_value_makes_a_parser_raise(value: object, now: datetime) -> None:
    clock = Clock(now)
    ra.distance_s(ra.parse_reset(value, clock), clock)
    ra.next_midnight("America/Los_Angeles", now)
    relative_wait(str(value))
    named_moment(f"resets {value}", clock, UTC)


@given(st.integers(0, 10**9))
def test_go_durations_are_read_as_they_are_written(milliseconds: int) -> None:
    hours, rest = divmod(milliseconds, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    written = f"{hours}h{minutes}m{rest / 1000:.3f}s"
    assert ra.parse_duration(written) == pytest.approx(milliseconds / 1000, abs=1e-6)
