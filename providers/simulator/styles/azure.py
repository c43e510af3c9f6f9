"""Azure OpenAI: a fixed minute, prompt + cap at arrival, nothing given back; plain seconds in the headers."""

from __future__ import annotations

from collections.abc import Sequence

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.book import Reading
from providers.simulator.limits.settings import Charge, Measure, Rules, WindowKind
from providers.simulator.plan import Headers, Reply, json_reply
from providers.simulator.styles.style import Refused, Style

INCREASE = "https://aka.ms/oai/quotaincrease"


def refuse(refused: Refused) -> Reply:
    which = "token" if refused.of_tokens else "call"
    wait_s = max(1, refused.wait_s)
    message = (
        "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-05-01-preview "
        f"have exceeded {which} rate limit of your current OpenAI S0 pricing tier. Please retry after {wait_s} "
        f"seconds. Please go here: {INCREASE} if you would like to further increase the default rate limit."
    )
    headers = (
        ("retry-after", str(wait_s)),
        ("retry-after-ms", str(max(1000, -(-refused.wait_us // 1000)))),
        ("x-ratelimit-type", "Tokens" if refused.of_tokens else "Requests"),
    )
    return json_reply(429, {"error": {"code": "429", "message": message}}, *headers, *gauge(refused.against))


def gauge(readings: Sequence[Reading]) -> Headers:
    """Per renewal period: the limit of requests is that of its own slice, not of a minute."""
    return tuple(
        header
        for reading in readings
        if reading.limit.measure in {Measure.REQUESTS, Measure.TOKENS} and reading.limit.period
        for header in _axis(reading)
    )


def _axis(reading: Reading) -> Headers:
    measure = reading.limit.measure
    return (
        (f"x-ratelimit-limit-{measure}", str(reading.ceiling)),
        (f"x-ratelimit-remaining-{measure}", str(reading.remaining)),
        (f"x-ratelimit-renewalperiod-{measure}", str(reading.limit.span_s)),
        (f"x-ratelimit-reset-{measure}", str(-(-reading.empty_in_us // SECOND_US))),
    )


STYLE = Style("azure", Rules(window=WindowKind.FIXED, charge=Charge.PROMPT_PLUS_MAX), refuse, gauge=gauge)
