"""OpenAI: continuous refill, charged the larger of cap and prompt, never given back; Go durations."""

from __future__ import annotations

from collections.abc import Sequence

from providers.simulator.limits.book import Reading
from providers.simulator.limits.settings import Charge, Measure, Rules, WindowKind
from providers.simulator.plan import Headers, Reply, json_reply
from providers.simulator.styles.style import Refused, Style, by_measure, go_duration

LIMIT_NAMES = {
    "rps": "requests per second (RPS)",
    "rpm": "requests per min (RPM)",
    "rpd": "requests per day (RPD)",
    "tpm": "tokens per min (TPM)",
    "itpm": "input tokens per min (ITPM)",
    "otpm": "output tokens per min (OTPM)",
    "tpd": "tokens per day (TPD)",
}
LEARN_MORE = "Visit https://platform.openai.com/account/rate-limits to learn more."


def refuse(refused: Refused) -> Reply:
    if refused.concurrency:
        slow_down = {"type": "rate_limit_error", "code": "slow_down", "param": None}
        return json_reply(429, {"error": {"message": "Please slow down and try again later.", **slow_down}})
    error = {
        "message": _message(refused),
        "type": _type(refused),
        "param": None,
        "code": "rate_limit_exceeded",
    }
    return json_reply(429, {"error": error}, *_retry_headers(refused), *gauge(refused.against))


def gauge(readings: Sequence[Reading]) -> Headers:
    """`x-ratelimit-*`; reset tells until the bucket is full again, not until the next call fits."""
    return tuple(
        header
        for measure in (Measure.REQUESTS, Measure.TOKENS)
        if (reading := by_measure(readings, measure, "minute") or by_measure(readings, measure, "day"))
        for header in (
            (f"x-ratelimit-limit-{measure}", str(reading.ceiling)),
            (f"x-ratelimit-remaining-{measure}", str(reading.remaining)),
            (f"x-ratelimit-reset-{measure}", go_duration(reading.empty_in_us)),
        )
    )


def _message(refused: Refused) -> str:
    reading = refused.first
    where = f"{refused.model} in organization org-simulated on {LIMIT_NAMES[reading.limit.name]}"
    if reading.never_fits:
        return (
            f"Request too large for {where}: Limit {reading.ceiling}, Requested {reading.asked}. "
            f"The input or output tokens must be reduced in order to run successfully. {LEARN_MORE}"
        )
    figures = f"Limit {reading.ceiling}, Used {reading.used}, Requested {reading.asked}"
    wait = go_duration(refused.wait_us)
    return f"Rate limit reached for {where}: {figures}. Please try again in {wait}. {LEARN_MORE}"


def _type(refused: Refused) -> str:
    return "tokens" if refused.of_tokens else "requests"


def _retry_headers(refused: Refused) -> Headers:
    if not refused.wait_us:
        return ()
    return (("retry-after-ms", str(-(-refused.wait_us // 1000))), ("retry-after", str(refused.wait_s)))


STYLE = Style("openai", Rules(window=WindowKind.BUCKET, day="bucket", charge=Charge.MAX_OF), refuse, gauge=gauge)
