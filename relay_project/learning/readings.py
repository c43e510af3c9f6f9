"""A provider's own words about its limits → figures that can be held against what is configured. Pure.

From headers of answers and refusals, and from the sentences of refusals ("Limit 30000, Used 29500", "4/4 in use").
Only what names its measure and its window counts; a limit of 0 is a missing entitlement, not a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from providers.contract import Refusal, RefusalKind
from providers.quota_headers import LimitReading, read_lowered
from providers.reading.figures import read_figures
from providers.reading.vendors import table_of
from providers.reading.windows import SECONDS
from providers.retry_after import Clock
from relay_project.learning.vendors import trust_of
from scheduling.core.learned import AT_ONCE
from scheduling.core.moment import SECOND_US
from scheduling.core.spec import Measure

_MEASURES: Final[Mapping[str, Measure]] = {
    "requests": Measure.REQUESTS,
    "tokens": Measure.TOTAL_TOKENS,
    "input_tokens": Measure.INPUT_TOKENS,
    "output_tokens": Measure.OUTPUT_TOKENS,
}
# Families of headers that tell the account's ordinary limits; "priority" is another tier's.
_FAMILIES: Final = frozenset({"", "project"})
_LIMIT_REFUSALS: Final = frozenset({RefusalKind.RATE_LIMITED, RefusalKind.EXHAUSTED, RefusalKind.BAD_REQUEST})
_MEASURES_IN_WORDS: Final = (
    (Measure.INPUT_TOKENS, re.compile(r"input[ _]tokens? per|\bITP[SMHD]\b|input_token_count", re.I)),
    (Measure.OUTPUT_TOKENS, re.compile(r"output[ _]tokens? per|\bOTP[SMHD]\b", re.I)),
    (Measure.TOTAL_TOKENS, re.compile(r"tokens? per|\bTP[SMHD]\b", re.I)),
    (Measure.REQUESTS, re.compile(r"requests? per|\bRP[SMHD]\b|RequestsPer|tier_requests\b", re.I)),
)
_LIMIT_WORD: Final = re.compile(r"\blimit[:\s]{1,3}\d", re.I)
_IN_USE: Final = re.compile(r"\b\d{1,6}\s?/\s?(\d{1,6})\b")
_CONCURRENCY: Final = re.compile(r"concurren\w*[^\d\n]{0,30}(\d{1,6})\b", re.I)
# A bucket is full again after used/limit of its window; much longer, and the header speaks of a longer window.
_SAME_WINDOW: Final = 3


@dataclass(frozen=True, slots=True)
class Heard:
    """One limit as a provider told it."""

    measure: str  # a `Measure`, or AT_ONCE
    window_us: int  # 0: at once
    limit: int
    remaining: int | None = None
    per_slice: bool = False  # also counts for longer windows, in proportion
    evidence: str = ""


def of_headers(headers: Mapping[str, str], vendor: str, now: datetime) -> list[Heard]:
    """The limits that `headers` tell, whatever the case of their names."""
    trust = trust_of(vendor)
    if not trust.headers:
        return []
    lowered = {name.lower(): value for name, value in headers.items()}
    windows = {**trust.windows, **table_of(vendor).header_windows}
    return [
        heard
        for reading in read_lowered(lowered, windows, Clock(now))
        if (heard := _of_reading(reading, vendor)) is not None
    ]


def of_refusal(refusal: Refusal, vendor: str, now: datetime) -> list[Heard]:
    """The limits that a refusal tells, in its headers and in its words."""
    return [*of_headers(refusal.limits, vendor, now), *_in_words(refusal, vendor)]


def _of_reading(reading: LimitReading, vendor: str) -> Heard | None:
    trust = trust_of(vendor)
    window_s = reading.window_s or SECONDS.get(reading.window)
    measure = _MEASURES.get(reading.measure)
    if not reading.limit or window_s is None or measure is None or reading.name not in _FAMILIES:
        return None
    if not _fits_window(reading, window_s, refills=table_of(vendor).refills):
        return None
    remaining = None if reading.remaining is None else int(reading.remaining)
    window_us = round(window_s * SECOND_US)
    evidence = f"header: {reading.measure} {int(reading.limit):,} / {window_s:g} s"
    return Heard(measure, window_us, int(reading.limit), remaining, trust.per_slice, evidence)


def _fits_window(reading: LimitReading, window_s: float, *, refills: bool) -> bool:
    """Some vendors tell a day's limit under the same name as a minute's: the time to the reset gives it away."""
    if reading.reset_after_s is None or not reading.limit:
        return True
    if not refills or reading.remaining is None:
        return reading.reset_after_s <= window_s + 1
    used = max(1.0, reading.limit - reading.remaining)
    return reading.reset_after_s * reading.limit / used <= _SAME_WINDOW * window_s


def _in_words(refusal: Refusal, vendor: str) -> Iterator[Heard]:
    if refusal.kind is RefusalKind.CONCURRENCY:
        slots = _slots(refusal.message) if trust_of(vendor).at_once else 0
        if slots:
            yield Heard(AT_ONCE, 0, slots, evidence=f"refusal: {slots} at once")
        return
    if refusal.kind not in _LIMIT_REFUSALS or len(_LIMIT_WORD.findall(refusal.message)) != 1:
        return  # several limits in one sentence: nobody can say which figure is whose
    limit, window_s = read_figures(refusal.message).limit, SECONDS.get(refusal.scope)
    measure = _measure_in(f"{refusal.limit_name} {refusal.message}")
    if limit and window_s is not None and measure is not None:
        evidence = f"refusal: {measure.value} {int(limit):,} / {window_s:g} s"
        yield Heard(measure, round(window_s * SECOND_US), int(limit), evidence=evidence)


def _measure_in(text: str) -> Measure | None:
    return next((measure for measure, pattern in _MEASURES_IN_WORDS if pattern.search(text)), None)


def _slots(message: str) -> int:
    """As in “4/4 in use” or “max concurrency: 1”; 0 where no figure is told."""
    match = _IN_USE.search(message) or _CONCURRENCY.search(message)
    return int(match[1]) if match else 0
