"""Vendors whose refusal is a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.book import Reading
from providers.simulator.limits.settings import Charge, Measure, Rules, Scope, WindowKind
from providers.simulator.plan import Headers, Reply, json_reply
from providers.simulator.styles.style import Refused, Style, by_measure, retry_after

BEIJING = timezone(timedelta(hours=8))


def nvidia(refused: Refused) -> Reply:
    """No hint at all; a full worker says 503 with a number that is shared by everybody on it."""
    if not refused.concurrency:
        return json_reply(429, {"status": 429, "title": "Too Many Requests"})
    slots = f"{refused.first.used}/{refused.first.ceiling}"
    message = f"ResourceExhausted: Worker local total request limit reached ({slots})"
    return json_reply(503, {"error": {"message": message, "type": "Service Unavailable", "code": 503}})


def mistral(refused: Refused) -> Reply:
    if refused.concurrency:
        flat = {"type": "service_tier_capacity_exceeded", "param": None, "code": "3505"}
        message = "Service tier capacity exceeded for this model."
        return json_reply(429, {"object": "error", "message": message, **flat})
    return json_reply(429, {"message": "Rate limit exceeded"}, *retry_after(refused), *_mistral_gauge(refused.against))


def _mistral_gauge(readings: Sequence[Reading]) -> Headers:
    requests = by_measure(readings, Measure.REQUESTS, "minute")
    tokens = by_measure(readings, Measure.TOKENS, "minute")
    return tuple(
        header
        for name, reading in (("req", requests), ("tokens", tokens))
        if reading
        for header in (
            (f"x-ratelimit-limit-{name}-minute", str(reading.ceiling)),
            (f"x-ratelimit-remaining-{name}-minute", str(reading.remaining)),
        )
    )


def openrouter(refused: Refused) -> Reply:
    """The code is a number; the day's reset is in epoch milliseconds, told in headers and body alike."""
    if refused.concurrency:
        raw = f"{refused.model} is temporarily rate-limited upstream. Please retry shortly."
        metadata: dict[str, object] = {"raw": raw, "limit_source": "upstream_provider_shared_pool"}
        return json_reply(429, {"error": {"message": "Provider returned error", "code": 429, "metadata": metadata}})
    bucket = "free-models-per-day" if refused.period == "day" else "free-models-per-min"
    reset_ms = (refused.epoch_us + refused.wait_us) // 1000
    told = {
        "X-RateLimit-Limit": str(refused.first.ceiling),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(reset_ms),
    }
    metadata = {"headers": told, "provider_name": None}
    error = {"message": f"Rate limit exceeded: {bucket}. ", "code": 429, "metadata": metadata}
    return json_reply(429, {"error": error}, *((name.lower(), value) for name, value in told.items()))


def zhipu(refused: Refused) -> Reply:
    """A business code, no header; the reset of a plan in Beijing time without a zone."""
    if refused.period != "day":
        message = "您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。"
        return json_reply(429, {"error": {"code": "1302", "message": message}})
    reset = datetime.fromtimestamp((refused.epoch_us + refused.wait_us) // SECOND_US, UTC).astimezone(BEIJING)
    message = f"已达到 5 小时的使用上限。您的限额将在 {reset:%Y-%m-%d %H:%M:%S} 重置。"
    return json_reply(429, {"error": {"code": "1308", "message": message}})


def deepseek(refused: Refused) -> Reply:
    """Its 429 is documented by status and meaning only; the body has the shape of its other errors."""
    message = "Rate Limit Reached. Please pace your requests reasonably."
    shape = {"type": "rate_limit_error", "param": None, "code": "rate_limit_reached"}
    return json_reply(429, {"error": {"message": message, **shape}})


def kimi(refused: Refused) -> Reply:
    who = "Your account org-simulated<ak-simulated> request reached organization"
    limit = refused.first.ceiling
    wait = f"please try again after {max(1, refused.wait_s)} seconds"
    if refused.concurrency:
        message = f"{who} max concurrency: {limit}, {wait}"
    elif refused.of_tokens:
        name = "TPD" if refused.period == "day" else "TPM"
        message = f"{who} {name} rate limit, current: {refused.first.used + refused.first.asked}, limit: {limit}"
    else:
        message = f"{who} max RPM: {limit}, {wait}"
    return json_reply(429, {"error": {"message": message, "type": "rate_limit_reached_error"}})


def ollama(refused: Refused) -> Reply:
    message = "server busy, please try again.  maximum pending requests exceeded"
    return json_reply(503, {"error": {"message": message, "type": "api_error", "param": None, "code": None}})


def together(refused: Refused) -> Reply:
    """No wait is told: it follows from the stated limit."""
    unit = "tokens" if refused.of_tokens else "queries"
    message = (
        f"You have reached the rate limit specific to this model {refused.model}. "
        f"The maximum rate limit for this model is {refused.first.ceiling} {unit} per minute."
    )
    return json_reply(429, {"error": {"message": message, "type": "model_rate_limit"}})


def xai(refused: Refused) -> Reply:
    message = "Too many requests. Your team's rate limit has been exceeded."
    return json_reply(429, {"code": "resource-exhausted", "error": message})


def bedrock(refused: Refused) -> Reply:
    what = "tokens" if refused.of_tokens else "requests"
    per_day = " per day" if refused.period == "day" else ""
    message = f"Too many {what}{per_day}, please wait before trying again."
    return json_reply(429, {"message": message}, ("x-amzn-errortype", "ThrottlingException"))


STYLES = (
    Style("nvidia", Rules(charge=Charge.MEASURED, scope=Scope.KEY), nvidia),
    Style("mistral", Rules(charge=Charge.MEASURED, scope=Scope.ACCOUNT), mistral, gauge=_mistral_gauge),
    Style("openrouter", Rules(window=WindowKind.FIXED, day="UTC", scope=Scope.ACCOUNT), openrouter),
    Style("zhipu", Rules(charge=Charge.MEASURED, day="Asia/Shanghai", scope=Scope.ACCOUNT), zhipu),
    Style("deepseek", Rules(charge=Charge.MEASURED, scope=Scope.MODEL), deepseek),
    Style("kimi", Rules(charge=Charge.PROMPT_PLUS_MAX, day="Asia/Shanghai", scope=Scope.ACCOUNT), kimi),
    Style("ollama", Rules(charge=Charge.MEASURED), ollama),
    Style("together", Rules(charge=Charge.MEASURED), together),
    Style("xai", Rules(charge=Charge.MEASURED, scope=Scope.ACCOUNT), xai),
    Style("bedrock", Rules(charge=Charge.PROMPT_PLUS_MAX, refund=True), bedrock),
)
