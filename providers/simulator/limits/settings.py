"""What is limited and how it is counted: plain data, from flags, styles or `POST /_limits`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from zoneinfo import ZoneInfo


class WindowKind(enum.StrEnum):
    SLIDING = "sliding"
    FIXED = "fixed"
    BUCKET = "bucket"


class Charge(enum.StrEnum):
    """What a request costs a token limit at its arrival."""

    PROMPT_PLUS_MAX = "prompt_plus_max"
    MAX_OF = "max_of"
    INPUT_ONLY = "input_only"
    MEASURED = "measured"  # nothing; prompt and answer when it has ended


class Scope(enum.StrEnum):
    """What shares one counter."""

    ACCOUNT = "account"
    KEY = "key"
    MODEL = "model"


class Measure(enum.StrEnum):
    REQUESTS = "requests"
    TOKENS = "tokens"
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The figures; None = not limited."""

    rps: int | None = None
    rpm: int | None = None
    rpd: int | None = None
    tpm: int | None = None
    itpm: int | None = None
    otpm: int | None = None
    tpd: int | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """How the figures are counted."""

    window: WindowKind = WindowKind.SLIDING  # of a minute
    second: WindowKind = WindowKind.FIXED  # of a second
    day: str = "rolling"  # or `bucket`, or the time zone at whose midnight the day begins
    charge: Charge = Charge.PROMPT_PLUS_MAX
    refund: bool = False  # give back what was charged at arrival and not used
    counts_refused: bool = True  # a refused call counts as a request (never as tokens)
    scope: Scope = Scope.MODEL
    default_cap: int = 0  # the cap charged where the caller sets none


@dataclass(frozen=True, slots=True)
class Limit:
    """One of the ceilings, as a thing that can be counted."""

    name: str
    measure: Measure
    span_s: int
    period: str  # second, minute, day


LIMITS: tuple[Limit, ...] = (
    Limit("rps", Measure.REQUESTS, 1, "second"),
    Limit("rpm", Measure.REQUESTS, 60, "minute"),
    Limit("rpd", Measure.REQUESTS, 86_400, "day"),
    Limit("tpm", Measure.TOKENS, 60, "minute"),
    Limit("itpm", Measure.INPUT_TOKENS, 60, "minute"),
    Limit("otpm", Measure.OUTPUT_TOKENS, 60, "minute"),
    Limit("tpd", Measure.TOKENS, 86_400, "day"),
)
ROLLING_DAYS = ("rolling", "bucket")
CEILING_NAMES = tuple(field.name for field in fields(Ceilings))
_ENUMS = {"window": WindowKind, "second": WindowKind, "charge": Charge, "scope": Scope}
_RULE_NAMES = {field.name for field in fields(Rules)}


def changed_ceilings(ceilings: Ceilings, changes: Mapping[str, Any]) -> Ceilings:
    """Raises ValueError for a figure that is neither None nor a whole number ≥ 0."""
    chosen = {name: changes[name] for name in CEILING_NAMES if name in changes}
    for name, value in chosen.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise ValueError(f"{name}: expected a whole number or null, got {value!r}")
    return replace(ceilings, **chosen)


def changed_rules(rules: Rules, changes: Mapping[str, Any]) -> Rules:
    """Raises ValueError for a word that is not one of the rule's."""
    chosen: dict[str, Any] = {
        name: _ENUMS[name](value) if name in _ENUMS else value
        for name, value in changes.items()
        if name in _RULE_NAMES and value is not None
    }
    if "day" in chosen and chosen["day"] not in ROLLING_DAYS:
        _check_zone(chosen["day"])
    return replace(rules, **chosen)


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError) as error:
        raise ValueError(f"day: {name!r} is neither {' nor '.join(ROLLING_DAYS)} nor a time zone") from error


def unknown_names(changes: Mapping[str, Any]) -> set[str]:
    return set(changes) - set(CEILING_NAMES) - _RULE_NAMES - {"style"}
