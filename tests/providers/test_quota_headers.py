"""Limits told in headers, in every provider's way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from providers.contract import RefusalScope as S
from providers.quota_headers import LimitReading, read

NOW = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)


def by_measure(headers: dict[str, str], vendor: str) -> dict[str, LimitReading]:
    return {reading.measure: reading for reading in read(headers, vendor, NOW)}


def test_openai_durations_tell_when_the_bucket_is_full() -> None:
    told = by_measure(
        {
            "X-RateLimit-Limit-Requests": "60",
            "x-ratelimit-remaining-requests": "59",
            "x-ratelimit-reset-requests": "1s",
            "x-ratelimit-limit-tokens": "150000",
            "x-ratelimit-reset-tokens": "6m0s",
        },
        "openai",
    )
    assert told["requests"] == LimitReading("requests", S.MINUTE, None, 60, 59, None, 1)
    assert told["tokens"].reset_after_s == 360


def test_groq_counts_requests_per_day_and_tokens_per_minute() -> None:
    told = by_measure({"x-ratelimit-limit-requests": "1000", "x-ratelimit-limit-tokens": "8000"}, "groq")
    assert (told["requests"].window, told["tokens"].window) == (S.DAY, S.MINUTE)


def test_azure_limits_count_per_renewal_period() -> None:
    told = by_measure(
        {
            "x-ratelimit-limit-requests": "9000",
            "x-ratelimit-renewalperiod-requests": "10",
            "x-ratelimit-limit-tokens": "-1",
            "x-ratelimit-remaining-tokens": "-1",
            "x-ratelimit-reset-tokens": "30",
        },
        "azure",
    )
    assert (told["requests"].limit, told["requests"].window_s) == (9000, 10)
    assert (told["tokens"].limit, told["tokens"].remaining, told["tokens"].reset_after_s) == (None, None, 30)


def test_mistral_names_the_window_in_the_header() -> None:
    told = by_measure({"x-ratelimit-limit-req-minute": "0", "x-ratelimit-remaining-tokens-minute": "500"}, "mistral")
    assert (told["requests"].limit, told["requests"].window) == (0, S.MINUTE)
    assert told["tokens"].remaining == 500


def test_anthropic_moments_become_waits() -> None:
    told = by_measure(
        {
            "anthropic-ratelimit-input-tokens-remaining": "0",
            "anthropic-ratelimit-input-tokens-reset": "2026-10-01T07:00:30-05:00",
        },
        "anthropic",
    )["input_tokens"]
    assert (told.is_spent, told.reset_after_s, told.reset_at) == (True, 30, NOW + timedelta(seconds=30))


def test_a_claude_plan_tells_each_window() -> None:
    reset = str(int(NOW.timestamp()) + 600)
    readings = read(
        {
            "anthropic-ratelimit-unified-5h-status": "rejected",
            "anthropic-ratelimit-unified-5h-reset": reset,
            "anthropic-ratelimit-unified-7d-status": "allowed",
            "anthropic-ratelimit-unified-7d-utilization": "0.42",
            "anthropic-ratelimit-unified-7d_oi-status": "allowed_warning",
        },
        "claude-subscription",
        NOW,
    )
    assert [(r.window, r.rejected) for r in readings] == [(S.FIVE_HOUR, True), (S.WEEK, False), (S.MODEL, False)]
    assert (readings[0].reset_after_s, readings[1].used_share) == (600, 0.42)


def test_codex_windows_are_known_by_their_length_not_their_place() -> None:
    readings = read(
        {
            "x-codex-primary-used-percent": "75",
            "x-codex-primary-window-minutes": "10080",
            "x-codex-primary-reset-after-seconds": "3600",
            "x-codex-secondary-used-percent": "20.5",
            "x-codex-secondary-window-minutes": "300",
            "x-codex-bengalfox-primary-used-percent": "1",
        },
        "codex-backend",
        NOW,
    )
    assert [(r.window, r.used_share) for r in readings[:2]] == [(S.WEEK, 0.75), (S.FIVE_HOUR, 0.205)]
    assert readings[0].reset_after_s == 3600
    assert readings[2].name == "bengalfox-primary"


def test_openrouter_resets_in_epoch_milliseconds() -> None:
    told = by_measure({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790870400000"}, "openrouter")["requests"]
    assert told.reset_at == datetime(2026, 10, 1, 16, 0, tzinfo=UTC)
    assert told.reset_after_s == 4 * 3600


def test_project_limits_stand_beside_the_organizations() -> None:
    readings = read({"x-ratelimit-limit-tokens": "9", "x-ratelimit-limit-project-tokens": "5"}, "openai", NOW)
    assert [(r.name, r.limit) for r in readings] == [("", 9), ("project", 5)]


def test_without_a_clock_a_moment_stays_a_moment() -> None:
    (reading,) = read({"x-ratelimit-reset": "1790870400000"}, "openrouter", None)
    assert (reading.reset_after_s, reading.reset_at is not None) == (None, True)


@given(st.dictionaries(st.sampled_from(["x-ratelimit-reset", "x-codex-primary-window-minutes"]), st.text()))
def test_no_header_value_makes_it_raise(headers: dict[str, str]) -> None:
    for reading in read(headers, "openai", NOW):
        assert reading.reset_after_s is None or reading.reset_after_s > 0
