"""Checks a request's parameters as OpenAI's API does: by a table of types and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.simulator.dialects.openai_chat.errors import (
    BadRequest,
    missing,
    out_of_range,
    unsupported,
    wrong_type,
)

Number = int | float
ROLES = ["system", "assistant", "user", "function", "tool", "developer"]
FORMATS = ["json_object", "json_schema", "text"]


@dataclass(frozen=True, slots=True)
class Rule:
    expected: str
    types: tuple[type, ...]
    low: Number | None = None
    high: Number | None = None


BOOLEAN = Rule("a boolean", (bool,))
OBJECT = Rule("an object", (dict,))
STRING = Rule("a string", (str,))
ARRAY = Rule("an array of objects", (list,))
POSITIVE = Rule("an integer", (int,), low=1)

RULES: Mapping[str, Rule] = {
    "model": STRING,
    "messages": ARRAY,
    "stream": BOOLEAN,
    "stream_options": OBJECT,
    "max_tokens": POSITIVE,
    "max_completion_tokens": POSITIVE,
    "n": Rule("an integer", (int,), low=1, high=128),
    "temperature": Rule("a decimal", (int, float), low=0, high=2),
    "top_p": Rule("a decimal", (int, float), low=0, high=1),
    "presence_penalty": Rule("a decimal", (int, float), low=-2, high=2),
    "frequency_penalty": Rule("a decimal", (int, float), low=-2, high=2),
    "logprobs": BOOLEAN,
    "top_logprobs": Rule("an integer", (int,), low=0, high=20),
    "seed": Rule("an integer", (int,)),
    "stop": Rule("one of a string or array of strings", (str, list)),
    "tools": ARRAY,
    "tool_choice": Rule("one of a string or object", (str, dict)),
    "parallel_tool_calls": BOOLEAN,
    "response_format": OBJECT,
    "user": STRING,
    "logit_bias": OBJECT,
    "metadata": OBJECT,
    "store": BOOLEAN,
    "service_tier": STRING,
    "reasoning_effort": STRING,
    "verbosity": STRING,
    "modalities": Rule("an array of strings", (list,)),
    "prediction": OBJECT,
    "audio": OBJECT,
    "functions": ARRAY,
    "function_call": Rule("one of a string or object", (str, dict)),
    "prompt_cache_key": STRING,
    "safety_identifier": STRING,
    "web_search_options": OBJECT,
}


def check_fields(fields: Mapping[str, Any], *, strict: bool) -> None:
    """Raises BadRequest. `null` is as good as absent; unknown names pass unless `strict`."""
    for name, value in fields.items():
        rule = RULES.get(name)
        if rule is not None and value is not None:
            _check(name, value, rule)
        elif rule is None and strict:
            raise BadRequest(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    _check_stream_options(fields)
    _check_messages(fields)
    _check_format(fields)
    _check_top_logprobs(fields)


def _check(name: str, value: Any, rule: Rule) -> None:
    if not isinstance(value, rule.types) or (isinstance(value, bool) and bool not in rule.types):
        raise wrong_type(name, rule.expected, value)
    if isinstance(value, int | float):
        _check_bounds(name, value, rule)


def _check_bounds(name: str, value: Number, rule: Rule) -> None:
    if rule.low is not None and value < rule.low:
        raise out_of_range(name, value, rule.low, "below min")
    if rule.high is not None and value > rule.high:
        raise out_of_range(name, value, rule.high, "above max")


def _check_stream_options(fields: Mapping[str, Any]) -> None:
    if fields.get("stream_options") is not None and not fields.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise BadRequest(message, "stream_options")


def _check_messages(fields: Mapping[str, Any]) -> None:
    messages = fields.get("messages")
    if messages is None:
        raise missing("messages")
    if not messages:
        expected = "Expected an array with minimum length 1, but got an empty array instead."
        raise BadRequest(f"Invalid 'messages': empty array. {expected}", "messages", "empty_array")
    for place, message in enumerate(messages):
        _check_message(f"messages[{place}]", message)


def _check_message(param: str, message: Any) -> None:
    if not isinstance(message, dict):
        raise wrong_type(param, "an object", message)
    if "role" not in message:
        raise missing(f"{param}.role")
    if message["role"] not in ROLES:
        raise unsupported(f"{param}.role", message["role"], ROLES)
    content = message.get("content")
    if content is None and message["role"] != "assistant":
        raise missing(f"{param}.content")
    if content is not None and not isinstance(content, str | list):
        raise wrong_type(f"{param}.content", "one of a string or array of objects", content)
    for place, part in enumerate(content if isinstance(content, list) else []):
        if not isinstance(part, dict):
            raise wrong_type(f"{param}.content[{place}]", "an object", part)


def _check_format(fields: Mapping[str, Any]) -> None:
    wanted = fields.get("response_format")
    if not wanted:
        return
    if wanted.get("type") not in FORMATS:
        raise unsupported("response_format.type", wanted.get("type"), FORMATS)
    if wanted["type"] == "json_schema" and not isinstance(wanted.get("json_schema"), dict):
        raise missing("response_format.json_schema")
    if wanted["type"] == "json_object" and "json" not in str(fields["messages"]).lower():
        wanted_for = "to use 'response_format' of type 'json_object'."
        raise BadRequest(f"'messages' must contain the word 'json' in some form, {wanted_for}", "messages")


def _check_top_logprobs(fields: Mapping[str, Any]) -> None:
    if fields.get("top_logprobs") and not fields.get("logprobs"):
        message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
        raise BadRequest(message, "top_logprobs")
