"""Groq: continuous refill for minute and day; requests are told per day, tokens per minute; fractional Retry-
After.
"""

from __future__ import annotations

from collections.abc import Sequence

from providers.simulator.limits.book import Reading
from providers.simulator.limits.settings import Charge, Measure, Rules, WindowKind
from providers.simulator.plan import Headers, Reply, json_reply
from providers.simulator.styles.openai import LIMIT_NAMES
from providers.simulator.styles.style import Refused, Style, by_measure, decimal, go_duration

WORDS = {name: words.replace("per min ", "per minute ") for name, words in LIMIT_NAMES.items()}


def refuse(refused: Refused) -> Reply:
    status = 413 if refused.first.never_fits else 429
    kind = "tokens" if refused.of_tokens else "requests"
    error = {"message": _message(refused), "type": kind, "code": "rate_limit_exceeded"}
    return json_reply(status, {"error": error}, *_retry_after(refused), *gauge(refused.against))


def gauge(readings: Sequence[Reading]) -> Headers:
    told = {
        "requests": by_measure(readings, Measure.REQUESTS, "day"),
        "tokens": by_measure(readings, Measure.TOKENS, "minute"),
    }
    return tuple(
        header
        for kind, reading in told.items()
        if reading
        for header in (
            (f"x-ratelimit-limit-{kind}", str(reading.ceiling)),
            (f"x-ratelimit-remaining-{kind}", str(reading.remaining)),
            (f"x-ratelimit-reset-{kind}", go_duration(reading.empty_in_us)),
        )
    )


def _message(refused: Refused) -> str:
    reading = refused.first
    where = f"model `{refused.model}` in organization `org_simulated` service tier `on_demand`"
    if refused.concurrency:
        return f"Too many concurrent requests for {where}. Please try again later."
    limit = f"on {WORDS[reading.limit.name]}: Limit {reading.ceiling}"
    if reading.never_fits:
        asked = f"Requested {reading.asked}, please reduce your message size and try again."
        return f"Request too large for {where} {limit}, {asked}"
    figures = f"{limit}, Used {reading.used}, Requested {reading.asked}"
    return f"Rate limit reached for {where} {figures}. Please try again in {go_duration(refused.wait_us)}."


def _retry_after(refused: Refused) -> Headers:
    if not refused.wait_us:
        return ()
    return (("retry-after", decimal(-(-refused.wait_us // 1000) / 1000)),)


STYLE = Style("groq", Rules(window=WindowKind.BUCKET, day="bucket", charge=Charge.PROMPT_PLUS_MAX), refuse, gauge=gauge)
