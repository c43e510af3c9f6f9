"""Reads "come back in …" in every dress providers give it. Pure: the time of the answer is an argument.

Numbers and durations become seconds (float), moments become aware UTC datetimes. Every parser answers None
for what it cannot read; none raises. What a provider said is returned as said: zero and negative waits too.
`usable_wait` says which of them may be believed, and `whole_ms` rounds up for the wire.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MAX_WAIT_S = 400 * 86400.0  # the longest limits are monthly, the longest hints a year; more is a misreading

_UNIT_S = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3,
    "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0,
}  # fmt: skip
_UNIT = (
    r"(?:milliseconds?|msecs?|millis|ms|ns|us|µs|seconds?|secs?|s"
    r"|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)"
)
_PART = rf"\d{{1,15}}(?:\.\d{{1,15}})?\s?{_UNIT}(?![a-z])"
_GO_PART = rf"\d{{1,15}}(?:\.\d{{1,15}})?{_UNIT}"
DURATION = rf"(?:(?:{_GO_PART})+(?![a-zµ])|{_PART}(?:,?\s{{1,3}}(?:and\s)?{_PART})*)"
_PART_RE = re.compile(rf"(\d+(?:\.\d+)?)\s?({_UNIT})", re.I | re.A)
_DURATION_RE = re.compile(rf"\s*{DURATION}\s*", re.I | re.A)

_EPOCH_S, _EPOCH_MS = 1e9, 1e12  # a plain number this large is a moment, not a wait


@dataclass(frozen=True, slots=True)
class Clock:
    """When the answer was read: by our clock, and by the server's own (`Date` header) where it is told.

    Moments named by a server are measured on the server's clock and told on ours. With neither clock a moment
    has no distance.
    """

    now: datetime | None
    server_now: datetime | None = None

    def until(self, moment: datetime | None) -> float | None:
        """Seconds from the answer to `moment`; negative when past."""
        reference = self.server_now or self.now
        if moment is None or reference is None:
            return None
        return (moment - reference).total_seconds()

    def on_ours(self, moment: datetime) -> datetime:
        """The same moment on our clock, corrected only where the two differ by more than a slow answer
        explains.
        """
        if self.now is None or self.server_now is None:
            return moment
        skew = self.now - self.server_now
        if abs(skew) < timedelta(seconds=5):
            return moment
        return _shifted(moment, skew.total_seconds()) or moment

    @property
    def reference(self) -> datetime | None:
        return self.server_now or self.now


def usable_wait(wait_s: float | None) -> float | None:
    """`wait_s` if it may be believed: finite, positive, at most `MAX_WAIT_S`. Zero is no licence to loop."""
    if wait_s is None or not math.isfinite(wait_s) or not 0 < wait_s <= MAX_WAIT_S:
        return None
    return wait_s


def whole_ms(wait_s: float) -> int:
    """Milliseconds, rounded up; the inner rounding keeps 2750.112 s from becoming 2750113 ms."""
    return math.ceil(round(wait_s * 1000, 6))


def parse_number(value: object) -> float | None:
    """A plain decimal number, of a string or a JSON number. No booleans, no NaN, no infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not re.fullmatch(r"\s*[-+]?\d{1,30}(?:\.\d{0,30})?\s*", value, re.ASCII):
        return None
    try:
        number = float(value)
    except OverflowError:  # a JSON integer beyond what a float holds
        return None
    return number if math.isfinite(number) else None


def parse_duration(value: str) -> float | None:
    """ "6m0s", "900.2ms", "1h43m56s", "2 hours and 15 minutes" → seconds."""
    if not _DURATION_RE.fullmatch(value):
        return None
    return _sum_of_parts(value)


def _sum_of_parts(value: str) -> float:
    return sum(float(number) * _UNIT_S[_short_unit(unit)] for number, unit in _PART_RE.findall(value))


def _short_unit(unit: str) -> str:
    unit = unit.lower()
    if unit in _UNIT_S:
        return unit
    return "ms" if unit.startswith(("milli", "msec")) else unit[0]


def parse_http_date(value: str) -> datetime | None:
    """ "Thu, 01 Oct 2026 11:59:00 GMT" (and the two older forms of RFC 9110)."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return _in_utc(moment, UTC)


def parse_rfc3339(value: str, zone: tzinfo | None = UTC) -> datetime | None:
    """ "2026-09-27T07:08:00-05:00"; without an offset the moment is in `zone` (None: unknown, so
    unreadable).
    """
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return _in_utc(moment, zone)


def parse_epoch(value: object) -> datetime | None:
    """Seconds or milliseconds since 1970, told apart by size; smaller numbers are no epoch."""
    number = parse_number(value)
    if number is None or number < _EPOCH_S:
        return None
    seconds = number / 1000 if number >= _EPOCH_MS else number
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def parse_reset(value: object, clock: Clock) -> float | datetime | None:
    """Any reset figure: unit letters → duration; 1e12 and more → epoch ms; 1e9 → epoch s; a date → moment;
    else seconds.

    A `datetime` is returned where a moment was named, a float (seconds) where a distance was.
    """
    number = parse_number(value)
    if number is not None:
        return parse_epoch(number) if number >= _EPOCH_S else number
    if not isinstance(value, str):
        return None
    if (duration := parse_duration(value)) is not None:
        return duration
    return parse_rfc3339(value) or parse_http_date(value)


def distance_s(reset: float | datetime | None, clock: Clock) -> float | None:
    """What `parse_reset` returned, as seconds from the answer."""
    return clock.until(reset) if isinstance(reset, datetime) else reset


def next_midnight(zone_name: str, after: datetime) -> datetime | None:
    """The next start of a day on that zone's wall, as UTC; days of 23 and 25 hours come out right."""
    zone = zone_named(zone_name)
    if zone is None:
        return None
    try:
        local = after.astimezone(zone)
        following = local.date() + timedelta(days=1)
        return datetime(following.year, following.month, following.day, tzinfo=zone).astimezone(UTC)
    except (OverflowError, ValueError):  # the ends of the calendar
        return None


def zone_named(name: str) -> tzinfo | None:
    if name.strip().upper() in {"UTC", "GMT", "Z"}:
        return UTC
    try:
        return ZoneInfo(name.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _in_utc(moment: datetime, zone: tzinfo | None) -> datetime | None:
    if moment.tzinfo is None:
        if zone is None:
            return None
        moment = moment.replace(tzinfo=zone)
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def _shifted(moment: datetime, seconds: float) -> datetime | None:
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return None
