"""Traps that refusals set, written anew from the facts: same words with other meanings, hints that lie, prose."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from providers.contract import Refusal
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.refusals import ProviderAnswer, read_refusal, retry_after_ms

NOW = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
QUOTA_SENTENCE = "You exceeded your current quota, please check your plan and billing details."


def read(
    vendor: str, status: int | None, body: object = "", headers: dict[str, str] | None = None, **more: Any
) -> Refusal:
    now = more.pop("now", NOW)
    return read_refusal(ProviderAnswer(vendor, status, headers or {}, body, **more), now)


def gemini(quota_id: str, delay: str | None = None, **more: Any) -> dict[str, Any]:
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota_id, **more}]}
    details: list[Any] = [failure]
    if delay:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    return {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": QUOTA_SENTENCE, "details": details}}


PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
PER_MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"


@pytest.mark.parametrize(
    ("vendor", "status", "body", "kind"),
    [
        ("openai", 429, {"error": {"message": QUOTA_SENTENCE, "code": "insufficient_quota"}}, K.BILLING),
        ("gemini", 429, gemini(PER_MINUTE), K.RATE_LIMITED),
        ("gemini", 429, gemini(PER_DAY), K.EXHAUSTED),
        ("dashscope", 429, {"error": {"message": QUOTA_SENTENCE, "code": "insufficient_quota"}}, K.RATE_LIMITED),
        ("wandb", 402, {"error": {"message": QUOTA_SENTENCE}}, K.BILLING),
    ],
)
def test_one_sentence_has_four_meanings(vendor: str, status: int, body: object, kind: K) -> None:
    assert read(vendor, status, body).kind is kind


@pytest.mark.parametrize(
    ("limit", "used", "requested", "window", "wait_s"),
    [
        (10000, 8782, 8172, "tokens per min (TPM)", 41.724),
        (100000, 96604, 9985, "tokens per day (TPD)", 5692.896),
        (100000, 99552, 1533, "tokens per day (TPD)", 937.44),
        (200000, 199956, 3534, "tokens per day (TPD)", 1507.68),
        (200, 200, 1, "requests per day (RPD)", 432),
    ],
)
def test_a_missing_hint_follows_from_the_figures(
    limit: int, used: int, requested: int, window: str, wait_s: float
) -> None:
    words = (
        f"Rate limit reached for m in organization o on {window}: Limit {limit}, Used {used}, Requested {requested}."
    )
    refusal = read("groq", 429, {"error": {"message": words, "code": "rate_limit_exceeded"}})
    assert refusal.retry_after_s == pytest.approx(wait_s, abs=1e-6)


def test_a_request_larger_than_the_whole_limit_is_no_rate_limit() -> None:
    words = "Rate limit reached on tokens per min (TPM): Limit 8,000, Used 0, Requested 10,098. Try again in 16s."
    refusal = read("openai", 429, {"error": {"message": words, "code": "rate_limit_exceeded"}})
    assert (refusal.kind, refusal.retry_after_s) == (K.BAD_REQUEST, None)


@pytest.mark.parametrize(("day", "hour"), [("2026-07-01", 16), ("2026-12-01", 17)])
def test_a_spent_gemini_day_comes_back_at_four_or_five_in_korea(day: str, hour: int) -> None:
    """Must hold 3: midnight in California, with its daylight saving."""
    seoul = ZoneInfo("Asia/Seoul")
    asked = datetime.fromisoformat(f"{day}T10:00").replace(tzinfo=seoul)
    reset_at = read("gemini", 429, gemini(PER_DAY, "38s"), now=asked).reset_at
    assert reset_at is not None
    assert reset_at.astimezone(seoul) == asked.replace(hour=hour)


def test_a_false_delay_on_a_spent_day_is_ignored_and_a_true_one_believed() -> None:
    assert read("gemini", 429, gemini(PER_DAY, "38s")).retry_after_s == 19 * 3600
    assert read("gemini", 429, gemini(PER_DAY, "65205s")).retry_after_s == 65205


def test_gemini_per_minute_takes_the_longer_of_retry_info_and_text() -> None:
    body = gemini(PER_MINUTE, "56s")
    body["error"]["message"] += "\nPlease retry in 56.185908122s."
    assert retry_after_ms(read("gemini", 429, body)) == 56186


@pytest.mark.parametrize(
    "answer",
    [
        ("gemini", gemini(PER_DAY, quotaValue="0"), {}),
        ("gemini", {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x, limit: 0, model: y"}}, {}),
        ("mistral", {"message": "Rate limit exceeded"}, {"x-ratelimit-limit-tokens-minute": "0"}),
    ],
)
def test_a_limit_of_nothing_is_a_missing_entitlement(answer: tuple[str, object, dict[str, str]]) -> None:
    vendor, body, headers = answer
    refusal = read(vendor, 429, body, headers)
    assert (refusal.kind, refusal.scope, refusal.retry_after_s) == (K.BILLING, S.MODEL, None)


def test_a_limit_of_minus_one_is_no_limit_of_nothing() -> None:
    headers = {"x-ratelimit-limit-tokens": "-1", "x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"}
    refusal = read("azure", 429, {"error": {"code": "429", "message": "Too many"}}, headers)
    assert (refusal.kind, refusal.retry_after_s) == (K.RATE_LIMITED, None)


@pytest.mark.parametrize("vendor", ["openai", "gemini", "deepseek", "fal", "xai"])
def test_a_money_refusal_never_carries_a_wait(vendor: str) -> None:
    refusal = read(vendor, 402, {"error": {"message": "no money, try again in 2s"}}, {"retry-after": "1"})
    assert (refusal.kind, refusal.retry_after_s) == (K.BILLING, None)


def test_azure_waits_for_the_empty_axis_not_for_the_hint_that_makes_clients_hammer() -> None:
    headers = {
        "retry-after": "1",
        "retry-after-ms": "0",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "30",
        "x-ratelimit-remaining-requests": "8999",
        "x-ratelimit-reset-requests": "55",
    }
    assert read("azure-openai", 429, {"error": {"code": "429", "message": "slow"}}, headers).retry_after_s == 30


def test_the_wait_is_that_of_the_axis_that_refused() -> None:
    headers = {
        "anthropic-ratelimit-requests-remaining": "40",
        "anthropic-ratelimit-requests-reset": "2026-10-01T12:00:59Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": "2026-10-01T12:00:20Z",
    }
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "exceeded"}}
    assert read("anthropic", 429, body, headers).retry_after_s == 20


def test_only_the_refused_models_window_closes_a_claude_plans_model() -> None:
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(int(NOW.timestamp()) + 7200),
        "anthropic-ratelimit-unified-5h-status": "allowed",
        "anthropic-ratelimit-unified-7d-status": "allowed_warning",
        "retry-after": "5",
    }
    body = {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "would exceed your account's rate limit."},
    }
    refusal = read("claude-subscription", 429, body, headers)
    assert (refusal.kind, refusal.scope, refusal.retry_after_s) == (K.EXHAUSTED, S.MODEL, 7200)


def test_advertising_in_a_message_does_not_change_the_window() -> None:
    words = "Rate limit exceeded: free-models-per-min. Add 10 credits to unlock 1000 free model requests per day"
    refusal = read("openrouter", 429, {"error": {"message": words, "code": 429}})
    assert (refusal.kind, refusal.scope) == (K.RATE_LIMITED, S.MINUTE)


def test_words_in_an_address_do_not_change_the_window() -> None:
    words = "Slow down, see https://x.example/docs/requests-per-day/monthly"
    assert read("openai", 429, {"error": {"message": words, "code": "rate_limit_exceeded"}}).scope is S.MINUTE


def test_json_in_a_message_in_a_message_is_unwrapped() -> None:
    body: object = gemini(PER_DAY)
    for _ in range(3):
        body = {"error": {"message": f"got: {json.dumps(body)}", "code": 429, "status": "Too Many Requests"}}
    assert read("gemini", 429, body).scope is S.DAY


def test_stray_commas_and_no_break_spaces_are_forgiven() -> None:
    body = json.dumps(gemini(PER_DAY)).replace(": ", ":\xa0").replace(", ", ",,")
    assert read("gemini", 429, body).scope is S.DAY


def test_an_error_inside_a_200_names_its_own_status() -> None:
    refusal = read("openrouter", 200, {"error": {"code": 502, "message": "Upstream broke"}})
    assert (refusal.kind, refusal.status) == (K.SERVER_ERROR, 502)


def test_an_http_date_is_measured_on_the_servers_clock() -> None:
    headers = {"retry-after": "Thu, 01 Oct 2026 11:00:30 GMT", "date": "Thu, 01 Oct 2026 11:00:00 GMT"}
    refusal = read("generic", 429, "", headers)
    assert (refusal.retry_after_s, refusal.reset_at) == (30, NOW + timedelta(seconds=30))


def test_without_a_clock_only_relative_waits_are_told() -> None:
    assert read("gemini", 429, gemini(PER_DAY), now=None).retry_after_s is None
    assert read("gemini", 429, gemini(PER_MINUTE, "39s"), now=None).retry_after_s == 39


def test_an_absurd_wait_is_no_wait() -> None:
    assert read("generic", 429, "", {"retry-after": str(401 * 86400)}).retry_after_s is None
    assert read("generic", 429, "", {"retry-after": str(18 * 86400)}).retry_after_s == 18 * 86400
