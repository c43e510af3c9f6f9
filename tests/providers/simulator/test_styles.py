"""Refusals as the vendors send them: bodies and headers against what was reported of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.book import CONCURRENCY, Ask, LimitBook, Reading
from providers.simulator.limits.settings import LIMITS, Ceilings, Limit
from providers.simulator.plan import Reply
from providers.simulator.styles import STYLES, Refused
from providers.simulator.styles.style import go_duration

S = SECOND_US
EPOCH_US = 1_790_000_000 * S
BY_NAME: dict[str, Limit] = {limit.name: limit for limit in LIMITS} | {"concurrency": CONCURRENCY}


def reading(name: str, limit: int, used: int, asked: int, wait_us: int | None) -> Reading:
    return Reading(BY_NAME[name], limit, used, asked, wait_us, wait_us or 0)


def refuse(style: str, *readings: Reading) -> tuple[Reply, Any, dict[str, str]]:
    reply = STYLES[style].refuse(Refused(readings, "gpt-4o", EPOCH_US))
    return reply, json.loads(reply.body), dict(reply.headers)


def test_openai_tells_the_figures_and_the_wait_three_times():
    reply, body, headers = refuse("openai", reading("tpm", 30_000, 29_500, 1_200, 1_400_000))
    assert reply.status == 429
    assert body["error"] == {
        "message": "Rate limit reached for gpt-4o in organization org-simulated on tokens per min (TPM): Limit 30000, "
        "Used 29500, Requested 1200. Please try again in 1.4s. "
        "Visit https://platform.openai.com/account/rate-limits to learn more.",
        "type": "tokens",
        "param": None,
        "code": "rate_limit_exceeded",
    }
    assert headers["retry-after-ms"] == "1400"
    assert headers["retry-after"] == "2"
    assert headers["x-ratelimit-remaining-tokens"] == "500"


def test_openai_says_that_a_request_is_too_large_and_tells_no_time():
    _, body, headers = refuse("openai", reading("tpm", 30_000, 0, 54_000, None))
    assert body["error"]["message"].startswith("Request too large for gpt-4o in organization")
    assert "retry-after" not in headers


def test_azure_tells_plain_seconds_and_a_string_code():
    _, body, headers = refuse("azure", reading("tpm", 300_000, 300_000, 5_000, 26 * S))
    assert body["error"]["code"] == "429"
    assert (
        "exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 26 seconds."
        in (body["error"]["message"])
    )
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("26", "26000")
    assert headers["x-ratelimit-reset-tokens"] == "26"
    assert headers["x-ratelimit-renewalperiod-tokens"] == "60"


def test_gemini_wraps_its_body_in_a_list_and_lists_every_violation():
    reply, body, _ = refuse("gemini", reading("rpd", 250, 250, 1, 65_205 * S), reading("rpm", 10, 10, 1, 38_662_417))
    error = body[0]["error"]
    violations = error["details"][0]["violations"]
    assert (reply.status, error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert [violation["quotaId"] for violation in violations] == [
        "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
    ]
    assert violations[0]["quotaValue"] == "250"
    assert error["details"][-1]["retryDelay"] == "65205s"


def test_gemini_cuts_the_retry_delay_and_keeps_the_fraction_in_the_text():
    _, body, _ = refuse("gemini", reading("rpm", 10, 10, 1, 38_662_417))
    assert body[0]["error"]["details"][-1]["retryDelay"] == "38s"
    assert "Please retry in 38.662417s." in body[0]["error"]["message"]


def test_groq_tells_fractions_and_refuses_what_never_fits_with_413():
    reply, body, headers = refuse("groq", reading("tpm", 8_000, 1_800, 7_221, 7_660_000))
    assert headers["retry-after"] == "7.66"
    assert "Limit 8000, Used 1800, Requested 7221. Please try again in 7.66s." in body["error"]["message"]
    reply, body, headers = refuse("groq", reading("tpm", 8_000, 0, 10_098, None))
    assert reply.status == 413
    assert "Limit 8000, Requested 10098, please reduce your message size" in body["error"]["message"]


def test_groq_tells_requests_by_the_day_and_never_tokens_by_the_day():
    limits = LimitBook(Ceilings(rpd=1000, tpm=8000, tpd=100_000), STYLES["groq"].rules, 0)
    headers = dict(STYLES["groq"].gauge(limits.readings(0, Ask("m", "k", 1, None))))
    assert headers["x-ratelimit-limit-requests"] == "1000"
    assert headers["x-ratelimit-limit-tokens"] == "8000"


@pytest.mark.parametrize(
    ("style", "which", "status", "body"),
    [
        ("nvidia", reading("rpm", 40, 40, 1, 3 * S), 429, {"status": 429, "title": "Too Many Requests"}),
        (
            "nvidia",
            reading("concurrency", 16, 16, 1, None),
            503,
            {
                "error": {
                    "message": "ResourceExhausted: Worker local total request limit reached (16/16)",
                    "type": "Service Unavailable",
                    "code": 503,
                }
            },
        ),
        ("mistral", reading("rps", 1, 1, 1, S), 429, {"message": "Rate limit exceeded"}),
        (
            "zhipu",
            reading("concurrency", 1, 1, 1, None),
            429,
            {"error": {"code": "1302", "message": "您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。"}},
        ),
        ("bedrock", reading("tpm", 9, 9, 1, S), 429, {"message": "Too many tokens, please wait before trying again."}),
        (
            "bedrock",
            reading("tpd", 9, 9, 1, S),
            429,
            {"message": "Too many tokens per day, please wait before trying again."},
        ),
        (
            "xai",
            reading("rpm", 9, 9, 1, S),
            429,
            {
                "code": "resource-exhausted",
                "error": "Too many requests. Your team's rate limit has been exceeded.",
            },
        ),
        (
            "kimi",
            reading("rpm", 3, 3, 1, 20 * S),
            429,
            {
                "error": {
                    "message": "Your account org-simulated<ak-simulated> request reached organization max RPM: 3, "
                    "please try again after 20 seconds",
                    "type": "rate_limit_reached_error",
                }
            },
        ),
    ],
)
def test_a_short_refusal_is_the_vendors_own(style, which, status, body):
    reply, document, _ = refuse(style, which)
    assert (reply.status, document) == (status, body)


def test_openrouter_tells_the_reset_in_epoch_milliseconds_twice():
    _, body, headers = refuse("openrouter", reading("rpd", 50, 50, 1, 60 * S))
    reset_ms = str(EPOCH_US // 1000 + 60_000)
    assert headers["x-ratelimit-reset"] == reset_ms
    assert body["error"]["metadata"]["headers"]["X-RateLimit-Reset"] == reset_ms
    assert body["error"]["message"].startswith("Rate limit exceeded: free-models-per-day")


def test_zhipu_tells_a_plans_reset_in_beijing_time_without_a_zone():
    _, body, _ = refuse("zhipu", reading("rpd", 50, 50, 1, 60 * S))
    assert body["error"]["code"] == "1308"
    assert "2026-09-21 22:14:20" in body["error"]["message"]


def test_anthropic_names_the_limit_in_words():
    _, body, headers = refuse("anthropic", reading("itpm", 50_000, 50_000, 1, 11 * S))
    assert body["error"]["type"] == "rate_limit_error"
    assert "of 50,000 input tokens per minute. For details" in body["error"]["message"]
    assert headers["retry-after"] == "11"
    assert headers["anthropic-ratelimit-input-tokens-remaining"] == "0"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", [*BY_NAME])
def test_every_style_can_refuse_for_every_limit(style, name):
    for wait_us in (None,) if name == "concurrency" else (1, 90 * S, None):
        reply, _, headers = refuse(style, reading(name, 4, 4, 5, wait_us))
        assert reply.status in {413, 429, 503}
        assert headers.get("retry-after") != "0"


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [
        (0, "0s"),
        (120_000, "120ms"),
        (8_640_000, "8.64s"),
        (60 * S, "1m0s"),
        (90_500_000, "1m30.5s"),
        (432 * S, "7m12s"),
        (5_692_896_000, "1h34m52.896s"),
    ],
)
def test_durations_are_printed_as_go_prints_them(duration_us, text):
    assert go_duration(duration_us) == text
