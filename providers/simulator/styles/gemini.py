"""Gemini's OpenAI-compatible route: a body wrapped in a list; the quotaId tells the minute from the Pacific
day.
"""

from __future__ import annotations

from typing import Any

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.book import Reading
from providers.simulator.limits.settings import Charge, Rules, WindowKind
from providers.simulator.plan import Reply, json_reply
from providers.simulator.styles.style import Refused, Style, go_duration

SERVICE = "generativelanguage.googleapis.com"
DOCS = "https://ai.google.dev/gemini-api/docs/rate-limits"
REQUESTS_METRIC = f"{SERVICE}/generate_content_free_tier_requests"
TOKENS_METRIC = f"{SERVICE}/generate_content_free_tier_input_token_count"
QUOTA_IDS = {
    "second": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
    "minute": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
    "day": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
}
TOKEN_QUOTA_IDS = {
    "minute": "GenerateContentInputTokensPerModelPerMinute-FreeTier",
    "day": "GenerateContentInputTokensPerModelPerDay-FreeTier",
}
OVERLOADED = (
    "This model is currently experiencing high demand. Spikes in demand are usually temporary. Please try again later."
)


def refuse(refused: Refused) -> Reply:
    if refused.concurrency:
        return json_reply(503, [{"error": {"code": 503, "message": OVERLOADED, "status": "UNAVAILABLE"}}])
    error = {
        "code": 429,
        "message": _message(refused),
        "status": "RESOURCE_EXHAUSTED",
        "details": _details(refused),
    }
    return json_reply(429, [{"error": error}])


def _message(refused: Refused) -> str:
    lines = [
        "You exceeded your current quota, please check your plan and billing details. For more information on "
        f"this error, head to: {DOCS}."
    ]
    for reading in _counted(refused):
        metric = _violation(reading, refused.model)["quotaMetric"]
        lines.append(f"* Quota exceeded for metric: {metric}, limit: {reading.ceiling}, model: {refused.model}")
    if refused.wait_us:
        lines.append(f"Please retry in {go_duration(refused.wait_us)}.")
    return "\n".join(lines)


def _details(refused: Refused) -> list[dict[str, Any]]:
    violations = [_violation(reading, refused.model) for reading in _counted(refused)]
    details: list[dict[str, Any]] = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations},
        {
            "@type": "type.googleapis.com/google.rpc.Help",
            "links": [{"description": "Learn more about Gemini API quotas", "url": DOCS}],
        },
    ]
    if refused.wait_us:
        whole_s = max(1, refused.wait_us // SECOND_US)  # the provider cuts to whole seconds; the text is exact
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{whole_s}s"})
    return details


def _counted(refused: Refused) -> list[Reading]:
    return [reading for reading in refused.against if reading.limit.period]


def _violation(reading: Reading, model: str) -> dict[str, Any]:
    of_requests = reading.limit.measure == "requests"
    period = reading.limit.period
    return {
        "quotaMetric": REQUESTS_METRIC if of_requests else TOKENS_METRIC,
        "quotaId": QUOTA_IDS[period] if of_requests else TOKEN_QUOTA_IDS[period],
        "quotaDimensions": {"location": "global", "model": model},
        "quotaValue": str(reading.ceiling),
    }


STYLE = Style(
    "gemini",
    Rules(window=WindowKind.FIXED, day="America/Los_Angeles", charge=Charge.INPUT_ONLY),
    refuse,
)
