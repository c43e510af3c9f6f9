"""Reads the limits that a provider tells in headers, on refusals and on successes alike. Pure.

A family of header names is one regular expression with named parts; readings of one axis (measure, window,
name) are put together. Sources: provider-facts §24.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from providers.contract import RefusalScope
from providers.reading.vendors import table_of
from providers.reading.windows import of_seconds
from providers.retry_after import Clock, distance_s, parse_epoch, parse_number, parse_reset, usable_wait


@dataclass(frozen=True, slots=True)
class LimitReading:
    """One limit as told. None = not told; the figures are never negative.

    `measure`: "requests", "tokens", "input_tokens", "output_tokens" … or "plan" for a subscription's share.
    `limit` counts per `window_s` seconds where that is told, else per `window`. `used_share`: 0..1.
    `rejected`: whether this limit refused, where the provider says so.
    """

    measure: str
    window: RefusalScope = RefusalScope.UNKNOWN
    window_s: float | None = None
    limit: float | None = None
    remaining: float | None = None
    reset_at: datetime | None = None
    reset_after_s: float | None = None
    used_share: float | None = None
    rejected: bool | None = None
    name: str = ""

    @property
    def is_spent(self) -> bool:
        return self.rejected is True or (self.remaining == 0 and self.rejected is None)


_PLAN = "plan"
_MEASURES = {
    "req": "requests",
    "": "requests",
    "input-tokens": "input_tokens",
    "output-tokens": "output_tokens",
}
_WINDOW_WORDS = {
    "second": RefusalScope.SECOND,
    "minute": RefusalScope.MINUTE,
    "hour": RefusalScope.HOUR,
    "day": RefusalScope.DAY,
    "month": RefusalScope.MONTH,
}
# Windows of a Claude plan; every other name ("7d_oi", "seven_day_opus") belongs to one family of models.
_PLAN_WINDOWS = {
    "5h": RefusalScope.FIVE_HOUR,
    "five_hour": RefusalScope.FIVE_HOUR,
    "7d": RefusalScope.WEEK,
    "seven_day": RefusalScope.WEEK,
}

_RATE = re.compile(
    r"x-rate-?limit-(?P<field>limit|remaining|reset|renewalperiod)"
    r"(?:-(?P<measure>(?:project-)?(?:requests|req|input-tokens|output-tokens|tokens|images|audio-seconds)))?"
    r"(?:-(?P<window>second|minute|hour|day|month))?"
)
_ANTHROPIC = re.compile(
    r"anthropic-(?P<name>ratelimit|priority)-(?P<measure>requests|tokens|input-tokens|output-tokens)"
    r"-(?P<field>limit|remaining|reset)"
)
_UNIFIED = re.compile(r"anthropic-ratelimit-unified-(?:(?P<name>\w+)-)?(?P<field>status|reset|utilization)")
_CODEX = re.compile(
    r"x-codex-(?P<name>(?:[\w-]+-)?(?:primary|secondary))"
    r"-(?P<field>used-percent|window-minutes|reset-at|reset-after-seconds)"
)


def read(headers: Mapping[str, str], vendor: str, now: datetime | None) -> tuple[LimitReading, ...]:
    """Every limit told in `headers`, in the order told. `now` turns moments into waits (None: they stay
    moments).
    """
    lowered = {str(name).strip().lower(): str(value) for name, value in headers.items()}
    return read_lowered(lowered, table_of(vendor).header_windows, Clock(now))


def read_lowered(
    headers: Mapping[str, str], header_windows: Mapping[str, RefusalScope], clock: Clock
) -> tuple[LimitReading, ...]:
    """`read` for headers with lower-case names, on a given clock."""
    axes: dict[tuple[str, str], LimitReading] = {}
    for key, blank, changes in _fields(headers, header_windows, clock):
        axes[key] = replace(axes.get(key, blank), **changes)
    return tuple(axes.values())


_Field = tuple[tuple[str, str], LimitReading, dict[str, Any]]


def _fields(headers: Mapping[str, str], header_windows: Mapping[str, RefusalScope], clock: Clock) -> Iterator[_Field]:
    for name, value in headers.items():
        if (match := _RATE.fullmatch(name)) or (match := _ANTHROPIC.fullmatch(name)):
            yield _rate_field(match, value, header_windows, clock)
        elif match := _UNIFIED.fullmatch(name):
            yield _unified_field(match, value, clock)
        elif match := _CODEX.fullmatch(name):
            yield _codex_field(match, value, clock)


def _rate_field(match: re.Match[str], value: str, header_windows: Mapping[str, RefusalScope], clock: Clock) -> _Field:
    parts = match.groupdict()
    told = parts["measure"] or ""
    family = parts.get("name") or ("project" if told.startswith("project-") else "")
    told = told.removeprefix("project-")
    measure = _MEASURES.get(told, told)
    window = _WINDOW_WORDS.get(parts.get("window") or "") or header_windows.get(measure, RefusalScope.UNKNOWN)
    blank = LimitReading(measure, window, name="" if family == "ratelimit" else family)
    return (f"{family}-{measure}", window.value), blank, _rate_change(parts["field"], value, clock)


def _rate_change(field: str, value: str, clock: Clock) -> dict[str, Any]:
    if field == "reset":
        return _reset(parse_reset(value, clock), clock)
    number = _count(value)
    if field != "renewalperiod":
        return {field: number}
    return {"window_s": number, "window": of_seconds(number)} if number else {}


def _unified_field(match: re.Match[str], value: str, clock: Clock) -> _Field:
    name = match["name"] or ""
    blank = LimitReading(_PLAN, plan_window(name), name=name)
    if match["field"] == "status":
        changes: dict[str, Any] = {"rejected": value.strip().lower() == "rejected"}
    elif match["field"] == "reset":
        changes = _reset(parse_reset(value, clock), clock)
    else:
        changes = {"used_share": _count(value)}
    return ("unified", name), blank, changes


def plan_window(name: str) -> RefusalScope:
    """The scope of a Claude plan's window by its name; unknown names are those of one model family."""
    return _PLAN_WINDOWS.get(name, RefusalScope.MODEL if name else RefusalScope.UNKNOWN)


def _codex_field(match: re.Match[str], value: str, clock: Clock) -> _Field:
    return (
        ("codex", match["name"]),
        LimitReading(_PLAN, name=match["name"]),
        _codex_change(match["field"], value, clock),
    )


def _codex_change(field: str, value: str, clock: Clock) -> dict[str, Any]:
    number = _count(value)
    if number is None:
        return {}
    if field == "used-percent":
        return {"used_share": number / 100}
    if field == "window-minutes":
        return {"window_s": number * 60, "window": of_seconds(number * 60)}
    return _reset(parse_epoch(number) if field == "reset-at" else number, clock)


def _reset(reset: float | datetime | None, clock: Clock) -> dict[str, Any]:
    moment = {"reset_at": clock.on_ours(reset)} if isinstance(reset, datetime) else {}
    return {**moment, "reset_after_s": usable_wait(distance_s(reset, clock))}


def _count(value: str) -> float | None:
    """A figure that can be a count: -1 is some providers' word for "unknown"."""
    number = parse_number(value)
    return number if number is not None and number >= 0 else None
