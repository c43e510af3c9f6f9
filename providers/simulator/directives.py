"""How a caller says what the simulator shall do: `key=value` pairs, the same in a header, a model name or a
script.

`sim-small;fault=cut_after(3);ttft_ms=200` names the model `sim-small` and two directives. A fault takes
arguments in brackets or after a colon, separated by commas; `%2C` and the like stand for characters that
would end them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

FAULT = re.compile(r"(?P<name>\w+)(?:\((?P<inside>.*)\)|:(?P<after>.*))?", re.DOTALL)
HEADER_PREFIX = "x-sim-"


class DirectiveError(ValueError):
    """A directive that the simulator does not know or cannot read; the caller gets its text in a 400."""


@dataclass(frozen=True, slots=True)
class FaultCall:
    """A fault by name with its arguments: plain ones in order, `key=value` ones as pairs (a key may come
    twice).
    """

    name: str = "ok"
    args: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()

    def word(self, default: str, position: int = 0) -> str:
        return self.args[position] if len(self.args) > position and self.args[position] else default

    def number(self, default: float, position: int = 0) -> float:
        word = self.word(str(default), position)
        try:
            number = float(word)
        except ValueError as error:
            raise DirectiveError(f"fault {self.name}: {word!r} is not a number") from error
        if not 0 <= number < float("inf"):
            raise DirectiveError(f"fault {self.name}: {word} is out of range")
        return number

    def whole(self, default: int, position: int = 0) -> int:
        return int(self.number(default, position))


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one request is answered."""

    ttft_ms: float = 0.0  # until the first token (a stream) or the start of generation (an answer in one piece)
    tokens_per_s: float = 0.0  # 0 = all at once
    jitter_ms: float = 0.0  # up to so much more before the first token, spread evenly over the requests
    answer_tokens: int | None = None  # exactly so many (None = as many as the echo has)
    prompt_tokens: int | None = None  # what to count the prompt as (None = its words)
    text: str | None = None  # say this and nothing else
    strict: bool = False  # refuse parameters that the dialect does not know
    fault: FaultCall = FaultCall()

    def generation_s(self, tokens: int) -> float:
        return tokens / self.tokens_per_s if self.tokens_per_s else 0.0

    def first_token_s(self, number: int) -> float:
        """Seconds until the first token of the `number`-th request: golden-ratio steps fill the jitter
        evenly.
        """
        return (self.ttft_ms + self.jitter_ms * (number * 0.6180339887498949 % 1)) / 1000


def parse_fault(text: str) -> FaultCall:
    match = FAULT.fullmatch(text.strip())
    if match is None:
        raise DirectiveError(f"unreadable fault {text!r}")
    inside = match["inside"] if match["inside"] is not None else match["after"]
    parts = [part.strip() for part in inside.split(",")] if inside else []
    pairs = tuple(
        (unquote(key.strip()), unquote(value.strip()))
        for key, equals, value in (part.partition("=") for part in parts)
        if equals
    )
    return FaultCall(match["name"], tuple(unquote(part) for part in parts if "=" not in part), pairs)


READERS: Mapping[str, Callable[[str], Any]] = {
    "ttft_ms": float,
    "tokens_per_s": float,
    "jitter_ms": float,
    "answer_tokens": int,
    "prompt_tokens": int,
    "text": unquote,
    "strict": lambda value: value.lower() in {"1", "true", "yes"},
    "fault": parse_fault,
}


def apply(behaviour: Behaviour, directives: str) -> Behaviour:
    """`behaviour` changed by `key=value;key=value`. Raises DirectiveError."""
    for directive in filter(None, (part.strip() for part in directives.split(";"))):
        key, _, value = directive.partition("=")
        behaviour = _apply_one(behaviour, key.strip(), value.strip())
    return behaviour


def apply_headers(behaviour: Behaviour, headers: Mapping[str, str]) -> Behaviour:
    """`X-Sim: key=value;…` and `X-Sim-Ttft-Ms: 200` alike."""
    behaviour = apply(behaviour, headers.get("x-sim", ""))
    for name, value in headers.items():
        if name.startswith(HEADER_PREFIX):
            behaviour = _apply_one(behaviour, name.removeprefix(HEADER_PREFIX).replace("-", "_"), value)
    return behaviour


def split_model(name: str) -> tuple[str, str]:
    """A model name as sent → the model, its directives."""
    model, _, directives = name.partition(";")
    return model, directives


def _apply_one(behaviour: Behaviour, key: str, value: str) -> Behaviour:
    reader = READERS.get(key)
    if reader is None:
        raise DirectiveError(f"unknown directive {key!r}; known: {', '.join(READERS)}")
    try:
        return replace(behaviour, **{key: reader(value)})
    except ValueError as error:
        raise DirectiveError(f"directive {key}: {error}") from error
