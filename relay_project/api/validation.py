"""What a chat request must look like: checked field by field, in OpenAI's terms. Pure.

Only what the relay or every upstream relies on is checked; unknown members are the upstream's business. A null stands
for "not given", as OpenAI reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from relay_project.errors import InvalidRequest

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
Check = Callable[[Any], bool]


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(low: int, high: int) -> Check:
    return lambda value: is_whole(value) and low <= value <= high


def _number(low: float, high: float) -> Check:
    return lambda value: is_number(value) and low <= value <= high


def _stop(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


_MANY = 2**53
# field: (check, what it must be)
FIELDS: dict[str, tuple[Check, str]] = {
    "max_tokens": (_whole(1, _MANY), "a whole number of at least 1"),
    "max_completion_tokens": (_whole(1, _MANY), "a whole number of at least 1"),
    "n": (_whole(1, 128), "a whole number from 1 to 128"),
    "stream": (lambda value: isinstance(value, bool), "true or false"),
    "logprobs": (lambda value: isinstance(value, bool), "true or false"),
    "parallel_tool_calls": (lambda value: isinstance(value, bool), "true or false"),
    "top_logprobs": (_whole(0, 20), "a whole number from 0 to 20"),
    "temperature": (_number(0, 2), "a number from 0 to 2"),
    "top_p": (_number(0, 1), "a number from 0 to 1"),
    "presence_penalty": (_number(-2, 2), "a number from -2 to 2"),
    "frequency_penalty": (_number(-2, 2), "a number from -2 to 2"),
    "seed": (is_whole, "a whole number"),
    "stop": (_stop, "a string or a list of strings"),
    "user": (lambda value: isinstance(value, str), "a string"),
    "service_tier": (lambda value: isinstance(value, str), "a string"),
    "tools": (_objects, "a list of objects"),
    "functions": (_objects, "a list of objects"),
    "tool_choice": (lambda value: isinstance(value, str | dict), "a string or an object"),
    "response_format": (lambda value: isinstance(value, dict), "an object"),
    "stream_options": (lambda value: isinstance(value, dict), "an object"),
    "logit_bias": (lambda value: isinstance(value, dict), "an object"),
    "metadata": (lambda value: isinstance(value, dict), "an object"),
}


def check_chat(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidRequest` for the first field that is wrong."""
    _check_model(fields.get("model"))
    _check_messages(fields.get("messages"))
    for name, value in fields.items():
        known = FIELDS.get(name)
        if known is not None and value is not None and not known[0](value):
            raise _wrong(name, known[1])
    if fields.get("stream_options") is not None and not fields.get("stream"):
        raise InvalidRequest(_("stream_options is only allowed with stream: true."), param="stream_options")


def _check_model(model: object) -> None:
    if not isinstance(model, str) or not model:
        raise _wrong("model", "the name of a model or role, a string")


def _check_messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise _wrong("messages", "a list of at least one message")
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        if not isinstance(message, dict):
            raise _wrong(where, "an object")
        if not isinstance(message.get("role"), str) or message["role"] not in ROLES:
            raise _wrong(f"{where}.role", "one of " + ", ".join(sorted(ROLES)))
        content = message.get("content")
        if content is not None and not isinstance(content, str) and not _objects(content):
            raise _wrong(f"{where}.content", "a string or a list of content parts")
        if content is None and message["role"] not in ("assistant", "function"):
            raise _wrong(f"{where}.content", "a string or a list of content parts")


def _wrong(name: str, wanted: str) -> InvalidRequest:
    return InvalidRequest(_("%(name)s must be %(wanted)s.") % {"name": name, "wanted": wanted}, param=name)
