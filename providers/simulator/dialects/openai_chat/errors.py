"""How OpenAI's API says that a request is wrong."""

from __future__ import annotations

from typing import Any

from providers.simulator.canned import openai_error
from providers.simulator.plan import Reply, json_reply

INVALID = "invalid_request_error"
KEYS_PAGE = "https://platform.openai.com/account/api-keys"
NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
    f"auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from {KEYS_PAGE}."
)
NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
    "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
)


class BadRequest(Exception):
    """The request cannot be answered; `reply` says why, naming the parameter."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.reply = json_reply(status, openai_error(message, INVALID, code, param))


def kind_of(value: Any) -> str:
    """A JSON value's kind in OpenAI's words."""
    names = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string", type(None): "null"}
    return names.get(type(value)) or ("an array" if isinstance(value, list) else "an object")


def wrong_type(param: str, expected: str, value: Any) -> BadRequest:
    message = f"Invalid type for '{param}': expected {expected}, but got {kind_of(value)} instead."
    return BadRequest(message, param, "invalid_type")


def missing(param: str) -> BadRequest:
    return BadRequest(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")


def out_of_range(param: str, value: float, bound: float, side: str) -> BadRequest:
    """`side` is `below min` or `above max`."""
    kind = "integer" if isinstance(value, int) and isinstance(bound, int) else "decimal"
    sign = ">=" if side == "below min" else "<="
    message = f"Invalid '{param}': {kind} {side}imum value. Expected a value {sign} {bound}, but got {value} instead."
    return BadRequest(message, param, f"{kind}_{side.replace(' ', '_')}_value")


def unsupported(param: str, value: Any, supported: list[str]) -> BadRequest:
    listed = ", ".join(f"'{word}'" for word in supported[:-1]) + f", and '{supported[-1]}'"
    return BadRequest(f"Invalid value: '{value}'. Supported values are: {listed}.", param, "invalid_value")


def no_such_model(model: str) -> BadRequest:
    message = f"The model `{model}` does not exist or you do not have access to it."
    return BadRequest(message, None, "model_not_found", status=404)


def no_such_url(method: str, path: str) -> BadRequest:
    return BadRequest(f"Invalid URL ({method} {path})", status=404)


def wrong_key(key: str | None) -> Reply:
    if key is None:
        return json_reply(401, openai_error(NO_KEY, INVALID))
    shown = f"{key[:3]}{'*' * 8}{key[-4:]}" if len(key) > 12 else "*" * len(key)
    message = f"Incorrect API key provided: {shown}. You can find your API key at {KEYS_PAGE}."
    return json_reply(401, openai_error(message, INVALID, "invalid_api_key"))
