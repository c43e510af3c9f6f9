"""Anthropic: continuous refill, separate input and output, output counted as it is produced; RFC 3339 resets."""

from __future__ import annotations

from collections.abc import Sequence

from providers.simulator.limits.book import Reading
from providers.simulator.limits.settings import Charge, Rules, WindowKind
from providers.simulator.plan import Headers, Reply, json_reply
from providers.simulator.styles.style import Refused, Style, retry_after

LIMIT_NAMES = {
    "rps": "requests per second",
    "rpm": "requests per minute",
    "rpd": "requests per day",
    "tpm": "tokens per minute",
    "itpm": "input tokens per minute",
    "otpm": "output tokens per minute",
    "tpd": "tokens per day",
}
AXES = {"rpm": "requests", "tpm": "tokens", "itpm": "input-tokens", "otpm": "output-tokens"}
CONTACT = "contact sales at https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."
ORGANIZATION = "00000000-0000-0000-0000-000000000000"
TOO_MANY_CONNECTIONS = "Number of concurrent connections has exceeded your rate limit."


def refuse(refused: Refused) -> Reply:
    error = {"type": "rate_limit_error", "message": _message(refused)}
    body = {"type": "error", "error": error, "request_id": "req_simulated"}
    return json_reply(429, body, *retry_after(refused), *gauge(refused.against))


def gauge(readings: Sequence[Reading]) -> Headers:
    return tuple(
        header
        for reading in readings
        if (axis := AXES.get(reading.limit.name))
        for header in (
            (f"anthropic-ratelimit-{axis}-limit", str(reading.ceiling)),
            (f"anthropic-ratelimit-{axis}-remaining", str(reading.remaining)),
        )
    )


def _message(refused: Refused) -> str:
    if refused.concurrency:
        return f"{TOO_MANY_CONNECTIONS} Please try again later or {CONTACT}"
    limit = f"{refused.first.ceiling:,} {LIMIT_NAMES[refused.first.limit.name]}"
    return (
        f"This request would exceed the rate limit for your organization ({ORGANIZATION}) of {limit}. "
        "For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for "
        "current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. "
        f"You may also {CONTACT}"
    )


STYLE = Style("anthropic", Rules(window=WindowKind.BUCKET, day="bucket", charge=Charge.MEASURED), refuse, gauge=gauge)
