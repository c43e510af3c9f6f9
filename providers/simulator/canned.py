"""Whole answers that a fault puts in place of the right one: bodies as vendors and proxies send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.book import CONCURRENCY, Reading
from providers.simulator.limits.settings import LIMITS
from providers.simulator.plan import Reply, json_reply, text_reply
from providers.simulator.styles import STYLES, Refused

EXAMPLE_LIMITS = {"": ("rpm", 60), "_tokens": ("tpm", 30_000), "_day": ("rpd", 200)}
EXAMPLE_WAIT_US = {"minute": 20 * SECOND_US, "day": 5 * 3600 * SECOND_US}

NGINX_429 = """<html>
<head><title>429 Too Many Requests</title></head>
<body>
<center><h1>429 Too Many Requests</h1></center>
<hr><center>nginx</center>
</body>
</html>
"""


def openai_error(message: str, kind: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def html_page(status: int, title: str) -> Reply:
    head, body = f"<head><title>{status} {title}</title></head>", f"<body><h1>{status} {title}</h1></body>"
    return text_reply(status, f"<html>\n{head}\n{body}\n</html>\n")


# Refusals whose body tells a reader nothing, or something in a shape it may not expect.
ODD_429: Mapping[str, Reply] = {
    "empty": Reply(429),
    "html": text_reply(429, NGINX_429),
    "json_array": json_reply(429, []),
    "error_string": json_reply(429, {"error": "Too many requests"}),
    "invalid_utf8": Reply(
        429, b'{"error": {"message": "\xff\xfe\xc3(", "code": 429}}', (("content-type", "application/json"),)
    ),
    "text": text_reply(429, "Too Many Requests", "text/plain"),
    "quota": json_reply(
        429,
        openai_error(
            "You exceeded your current quota, please check your plan and billing details. For more information "
            "on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
            "insufficient_quota",
            "insufficient_quota",
        ),
    ),
    "plan_window": json_reply(
        429,
        {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached",
                   "plan_type": "plus", "resets_in_seconds": 561_635}},
    ),
}  # fmt: skip

NO_MONEY: Mapping[str, Reply] = {
    "openrouter": json_reply(
        402,
        {
            "error": {
                "message": "Insufficient credits. Add more using https://openrouter.ai/credits",
                "code": 402,
            }
        },
    ),
    "deepseek": json_reply(402, openai_error("Insufficient Balance", "unknown_error", "invalid_request_error")),
}

TOO_LONG: Mapping[str, Reply] = {
    "openai": json_reply(
        400,
        openai_error(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 "
            "tokens. Please reduce the length of the messages.",
            "invalid_request_error", "context_length_exceeded", "messages",
        ),
    ),
    "anthropic": json_reply(
        400,
        {"type": "error", "error": {"type": "invalid_request_error",
                                    "message": "prompt is too long: 250000 tokens > 200000 maximum"}},
    ),
    "gemini": json_reply(
        400,
        [{"error": {"code": 400, "status": "INVALID_ARGUMENT",
                    "message": "The input token count (1200000) exceeds the maximum number of tokens allowed "
                               "(1048576)."}}],
    ),
    "vllm": json_reply(
        400,
        {"error": {"message": "Requested token count exceeds the model's maximum context length of 131072 "
                              "tokens. You requested a total of 133526 tokens: 2454 tokens from the input "
                              "messages and 131072 tokens for the completion.",
                   "type": "BadRequestError", "param": None, "code": 400}},
    ),
    "lmstudio": json_reply(
        400,
        {"error": "Trying to keep the first 15857 tokens when context the overflows. However, the model is "
                  "loaded with context length of only 4096 tokens, which is not enough."},
    ),
    "llamacpp": json_reply(
        400,
        {"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9001, "n_ctx": 4096,
                   "message": "the request exceeds the available context size, try increasing it"}},
    ),
    "zhipu": json_reply(400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
}  # fmt: skip

OVERLOADED_503: Mapping[str, Reply] = {
    "openai": json_reply(
        503,
        openai_error(
            "Our servers are currently overloaded. Please try again later.",
            "service_unavailable_error", "server_is_overloaded",
        ),
    ),
    "nvidia": json_reply(
        503,
        {"error": {"message": "ResourceExhausted: Worker local total request limit reached (16/16)",
                   "type": "Service Unavailable", "code": 503}},
    ),
    "llamacpp": json_reply(
        503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    ),
    "html": html_page(503, "Service Temporarily Unavailable"),
}  # fmt: skip

BROKEN_5XX: Mapping[str, Reply] = {
    "500": json_reply(500, openai_error("The server had an error while processing your request.", "server_error")),
    "502": html_page(502, "Bad Gateway"),
    "504": html_page(504, "Gateway Time-out"),
    "520": text_reply(520, "error code: 520", "text/plain"),
    "529": json_reply(
        529,
        {"type": "error", "error": {"details": None, "type": "overloaded_error", "message": "Overloaded"}},
    ),
}


def rate_limited(body: str, model: str, epoch_us: int) -> Reply | None:
    """A 429 by name: an odd one, or a vendor's (`gemini`, `gemini_day`, `groq_tokens`, `kimi_concurrency`)."""
    if body in ODD_429:
        return ODD_429[body]
    vendor, _, which = body.partition("_")
    if vendor not in STYLES:
        return None
    reading = _example(f"_{which}" if which else "")
    return STYLES[vendor].refuse(Refused([reading], model, epoch_us)) if reading else None


def _example(which: str) -> Reading | None:
    if which == "_concurrency":
        return Reading(CONCURRENCY, 4, 4, 1, None, 0)
    if which not in EXAMPLE_LIMITS:
        return None
    name, ceiling = EXAMPLE_LIMITS[which]
    limit = next(limit for limit in LIMITS if limit.name == name)
    wait_us = EXAMPLE_WAIT_US[limit.period]
    return Reading(limit, ceiling, ceiling, 1, wait_us, wait_us)


def event_error(kind: str) -> dict[str, Any]:
    """The `error` of an event inside a 200 stream, by its type."""
    return EVENT_ERRORS.get(kind, _plain_event_error)(kind)


def _plain_event_error(kind: str) -> dict[str, Any]:
    return {"message": f"The server had an error ({kind}).", "type": kind, "param": None, "code": None}


EVENT_ERRORS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "overloaded_error": lambda kind: {"details": None, "type": kind, "message": "Overloaded"},
    "rate_limit_exceeded": lambda kind: {
        "message": "Rate limit reached on requests per min (RPM): Limit 60, Used 60, Requested 1. "
        "Please try again in 1s.",
        "type": "requests",
        "param": None,
        "code": kind,
    },
    "insufficient_quota": lambda kind: {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": kind,
        "param": None,
        "code": kind,
    },
    "openrouter_502": lambda kind: {"code": 502, "message": "Provider returned error"},
    "nvidia_slots": lambda kind: {
        "message": "ResourceExhausted: Worker local total request limit reached (16/16)",
        "type": "Service Unavailable",
        "code": 503,
    },
}
