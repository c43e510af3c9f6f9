"""Which of a provider's words about its limits count, and what they say."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from providers.contract import Refusal, RefusalKind, RefusalScope
from providers.refusals import ProviderAnswer, read_refusal
from relay_project.learning.readings import Heard, of_headers, of_refusal

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE, DAY = 60_000_000, 86_400_000_000


def figures(heard: list[Heard]) -> list[tuple[str, int, int, int | None]]:
    return [(one.measure, one.window_us, one.limit, one.remaining) for one in heard]


@pytest.mark.parametrize(
    ("vendor", "headers", "expected"),
    [
        (
            "openai",
            {"X-RateLimit-Limit-Tokens": "30000", "x-ratelimit-remaining-tokens": "29000"},
            [("total_tokens", MINUTE, 30_000, 29_000)],
        ),
        ("openai", {"x-ratelimit-limit-project-tokens": "10000"}, [("total_tokens", MINUTE, 10_000, None)]),
        (
            "openai",  # 10,000 a day under the minute's name: one call takes 8.64 s to come back
            {
                "x-ratelimit-limit-requests": "10000",
                "x-ratelimit-remaining-requests": "9999",
                "x-ratelimit-reset-requests": "8.64s",
            },
            [],
        ),
        (
            "openai",
            {
                "x-ratelimit-limit-requests": "500",
                "x-ratelimit-remaining-requests": "499",
                "x-ratelimit-reset-requests": "120ms",
            },
            [("requests", MINUTE, 500, 499)],
        ),
        (
            "groq",
            {"x-ratelimit-limit-requests": "1000", "x-ratelimit-limit-tokens": "6000"},
            [("requests", DAY, 1000, None), ("total_tokens", MINUTE, 6000, None)],
        ),
        (
            "azure",
            {"x-ratelimit-limit-requests": "30", "x-ratelimit-renewalperiod-requests": "10"},
            [("requests", 10_000_000, 30, None)],
        ),
        ("azure", {"x-ratelimit-limit-requests": "-1", "x-ratelimit-remaining-requests": "-1"}, []),
        ("anthropic", {"anthropic-priority-input-tokens-limit": "10000"}, []),
        ("mistral", {"x-ratelimit-limit-req-minute": "60"}, [("requests", MINUTE, 60, None)]),
        ("mistral", {"x-ratelimit-limit-req-minute": "0"}, []),  # an entitlement, not a limit
        ("github-models", {"x-ratelimit-limit-requests": "20000", "x-ratelimit-renewalperiod-requests": "60"}, []),
        ("simulator", {"x-ratelimit-limit-requests": "60"}, [("requests", MINUTE, 60, None)]),
        ("custom", {"x-ratelimit-limit-requests": "60"}, []),  # nobody says of which window
        ("openai", {"content-type": "application/json", "retry-after": "3"}, []),
    ],
)
def test_headers(vendor: str, headers: dict[str, str], expected: list[tuple[str, int, int, int | None]]) -> None:
    assert figures(of_headers(headers, vendor, NOW)) == expected


def refusal(vendor: str, status: int, message: str, **error: object) -> Refusal:
    body = json.dumps({"error": {"message": message, **error}})
    return read_refusal(ProviderAnswer(vendor=vendor, status=status, headers={}, body=body), NOW)


@pytest.mark.parametrize(
    ("vendor", "status", "message", "expected"),
    [
        (
            "openai",
            429,
            "Rate limit reached for m in organization org on tokens per min (TPM): Limit 30000, Used 29500, "
            "Requested 900. Please try again in 1.2s.",
            [("total_tokens", MINUTE, 30_000, None)],
        ),
        (
            "openai",
            429,
            "Request too large for m in organization org on tokens per min (TPM): Limit 30000, Requested 54000. "
            "The input or output tokens must be reduced in order to run successfully.",
            [("total_tokens", MINUTE, 30_000, None)],
        ),
        (
            "groq",
            429,
            "Rate limit reached for model `m` on tokens per day (TPD): Limit 100000, Used 99552, Requested 1533. "
            "Please try again in 15m37.44s.",
            [("total_tokens", DAY, 100_000, None)],
        ),
        ("moonshot", 429, "request reached organization max concurrency: 1, please try again after 1 seconds",
         [("at_once", 0, 1, None)]),
        ("wandb", 429, "Concurrency limit reached: 4/4 in use", [("at_once", 0, 4, None)]),
        ("nvidia", 503, "ResourceExhausted: Worker local total request limit reached (16/16)", []),
        ("anthropic", 429, "Number of concurrent connections has exceeded your rate limit.", []),
        ("gemini", 429, "* Quota exceeded for metric: requests_per_minute, limit: 15\n* tokens per minute, limit: 9",
         []),  # whose figure is whose
    ],
)  # fmt: skip
def test_refusals(vendor: str, status: int, message: str, expected: list[tuple[str, int, int, int | None]]) -> None:
    said = refusal(vendor, status, message, type="rate_limit_reached_error", code="rate_limit_exceeded")
    assert figures(of_refusal(said, vendor, NOW)) == expected


def test_a_refusals_headers_count_like_an_answers() -> None:
    said = Refusal(RefusalKind.RATE_LIMITED, RefusalScope.MINUTE, limits={"x-ratelimit-limit-tokens": "9000"})
    assert figures(of_refusal(said, "openai", NOW)) == [("total_tokens", MINUTE, 9_000, None)]


def test_a_billing_refusal_says_nothing_of_limits() -> None:
    said = Refusal(RefusalKind.BILLING, RefusalScope.MINUTE, message="tokens per min: Limit 30000")
    assert of_refusal(said, "openai", NOW) == []
