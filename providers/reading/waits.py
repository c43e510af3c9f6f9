"""Picks the wait: the hint of the axis that refused, the most trusted first, those that lie left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.quota_headers import LimitReading
from providers.reading.evidence import Evidence
from providers.reading.figures import read_figures
from providers.reading.rows import Hint, Table
from providers.reading.verdict import Verdict
from providers.reading.windows import SECONDS, is_daily_or_longer
from providers.retry_after import (
    Clock,
    distance_s,
    next_midnight,
    parse_duration,
    parse_number,
    parse_reset,
    usable_wait,
    zone_named,
)
from providers.retry_words import named_moment, relative_wait, without_urls

# A short hint on a money refusal lies, and no wait mends a request: only these kinds have one.
_LIMITS = (K.RATE_LIMITED, K.EXHAUSTED)
_WAITING = (*_LIMITS, K.OVERLOADED, K.CONCURRENCY, K.SERVER_ERROR, K.TIMEOUT)

_MOMENT_MEMBERS = ("quotaResetTimeStamp", "resets_at", "reset_at", "resetsAt", "resetAt")
_SECOND_MEMBERS = (
    "retryDelay",
    "quotaResetDelay",
    "resets_in_seconds",
    "retry_after_seconds",
    "retry_after",
    "retryAfter",
    "estimated_time",
)
_MS_MEMBERS = ("retry_after_ms", "retryAfterMs")


@dataclass(frozen=True, slots=True)
class Wait:
    """`wait_s` from the answer on; `reset_at` on our clock, where a moment was named."""

    hint: Hint
    wait_s: float
    reset_at: datetime | None = None


def pick_wait(verdict: Verdict, evidence: Evidence, table: Table, local_zone: str) -> Wait | None:
    if verdict.kind not in _WAITING:
        return None
    floor_s = table.day_hint_floor_s if is_daily_or_longer(verdict.scope) else 0.0
    waits = [
        wait
        for wait in _all_waits(verdict, evidence, table, local_zone)
        if usable_wait(wait.wait_s) is not None and (wait.wait_s >= floor_s or wait.hint is Hint.CALENDAR)
    ]
    if not waits:
        return None
    peers = [wait for wait in waits if wait.hint in table.longest_of]
    return max(peers, key=lambda wait: wait.wait_s) if waits[0] in peers else waits[0]


def _all_waits(verdict: Verdict, evidence: Evidence, table: Table, local_zone: str) -> Iterator[Wait]:
    """Every wait that the answer offers, the most trusted first."""
    clock = evidence.clock
    is_limit = verdict.kind in _LIMITS
    if is_limit:
        yield from _latest(Hint.WINDOW, evidence.refused_windows)
    yield from _from_members(evidence.members, clock)
    yield from _from_headers(evidence.headers, clock)
    yield from _from_text(evidence.words, clock, table.text_zone or local_zone)
    if is_limit:
        yield from _from_figures(evidence, table)
        yield from _latest(Hint.QUOTA_HEADER, _refused_axes(evidence))
        yield from _from_calendar(verdict, table, clock)


def _latest(hint: Hint, readings: tuple[LimitReading, ...]) -> Iterator[Wait]:
    waits = [Wait(hint, r.reset_after_s, r.reset_at) for r in readings if r.reset_after_s is not None]
    if waits:
        yield max(waits, key=lambda wait: wait.wait_s)


def _refused_axes(evidence: Evidence) -> tuple[LimitReading, ...]:
    """The axes with nothing left; where no header says so, the one that the error names."""
    spent = tuple(reading for reading in evidence.readings if reading.is_spent)
    if spent:
        return spent
    named = {code.replace("-", "_") for code in evidence.code_set} | _named_axis(evidence.headers)
    return tuple(r for r in evidence.readings if r.rejected is None and (r.measure in named or r.remaining is None))


def _named_axis(headers: Mapping[str, str]) -> set[str]:
    return {headers.get("x-ratelimit-type", "").lower()}


def _from_members(members: tuple[tuple[str, Any], ...], clock: Clock) -> Iterator[Wait]:
    for name, value in members:
        if name in _MOMENT_MEMBERS:
            yield from _wait(Hint.BODY, parse_reset(value, clock), clock)
    for name, value in members:
        if name in _SECOND_MEMBERS:
            seconds = parse_duration(value) if isinstance(value, str) else None
            yield from _wait(Hint.BODY, parse_number(value) if seconds is None else seconds, clock)
        elif name in _MS_MEMBERS and (ms := parse_number(value)) is not None:
            yield from _wait(Hint.BODY, ms / 1000, clock)


def _from_headers(headers: Mapping[str, str], clock: Clock) -> Iterator[Wait]:
    ms = parse_number(headers.get("retry-after-ms"))
    if ms is not None:
        yield Wait(Hint.RETRY_AFTER_MS, ms / 1000)
    yield from _wait(Hint.RETRY_AFTER, parse_reset(headers.get("retry-after"), clock), clock)


def _from_text(words: str, clock: Clock, zone_name: str) -> Iterator[Wait]:
    words = without_urls(words)
    relative_s = relative_wait(words)
    if relative_s is not None:
        yield Wait(Hint.TEXT, relative_s)
    zone = zone_named(zone_name) if zone_name else None
    yield from _wait(Hint.TEXT, named_moment(words, clock, zone), clock)


def _from_figures(evidence: Evidence, table: Table) -> Iterator[Wait]:
    window = evidence.window
    if not table.refills or window is None:
        return
    wait_s = read_figures(evidence.words).refill_wait_s(SECONDS[window])
    yield from _wait(Hint.FORMULA, wait_s, evidence.clock)


def _from_calendar(verdict: Verdict, table: Table, clock: Clock) -> Iterator[Wait]:
    if table.day_zone and verdict.scope is S.DAY and clock.reference is not None:
        yield from _wait(Hint.CALENDAR, next_midnight(table.day_zone, clock.reference), clock)


def _wait(hint: Hint, reset: float | datetime | None, clock: Clock) -> Iterator[Wait]:
    wait_s = distance_s(reset, clock)
    if wait_s is not None:
        yield Wait(hint, wait_s, clock.on_ours(reset) if isinstance(reset, datetime) else None)
