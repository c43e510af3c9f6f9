"""Waits and reset times in a sentence: "try again in 1m30.5s", "resets 3pm (Asia/Seoul)", "将在 … 重置".

Read only from a provider's error message, never from model prose. A relative wait needs no clock; a moment
needs one, and a moment without a zone also needs the zone its writer meant. Where several are named, the
longest rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from providers.retry_after import DURATION, Clock, parse_duration, parse_epoch, parse_rfc3339, zone_named

_JUST_PASSED = timedelta(minutes=5)  # "resets 3pm" read at 15:01 means today's, not tomorrow's

_TRIGGER = r"(?:again|retry|retrying|resets?|wait|available|access|back)"
_RELATIVE = re.compile(
    rf"\b{_TRIGGER}\b[\s:]{{0,2}}(?:again\s)?(?:in|after|for|within|at least)?\s?"
    rf"(?:about\s|another\s)?({DURATION})",
    re.I,
)
_CHINESE_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(秒|分钟|小时)后")
_CHINESE_UNIT = {"秒": "s", "分钟": "m", "小时": "h"}

_PIPE_EPOCH = re.compile(r"\|\s?(\d{10,13})\b")
_NUMERIC = re.compile(
    r"\b(\d{4}-\d{2}-\d{2})(?:T|\s(?:at\s)?)(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s?(Z\b|UTC\b|GMT\b|[+-]\d{2}:\d{2})?"
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
    )
}
_CLOCK = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?:\s?(?P<half>[ap]\.?m\b\.?))?"
    r"(?:\s?\((?P<zone>[A-Za-z][\w+\-/]{1,40})\)|\s(?P<utc>UTC|GMT)\b)?"
)
_DATE = (
    r"(?P<month>[A-Z][a-z]{2})[a-z]{0,6}\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s"
    r"(?:(?P<year>\d{4}),?\s)?(?:at\s)?"
)
_WALL = re.compile(rf"\b(?:resets?|again|until)\s(?:on\s|at\s)?(?:{_DATE})?{_CLOCK}", re.I)

_URL = re.compile(r"https?://\S+")


def without_urls(text: str) -> str:
    """Addresses hold words like `rate-limits` and `per-minute` that say nothing about this refusal."""
    return _URL.sub(" ", text)


def relative_wait(text: str) -> float | None:
    """The longest wait that the sentence names as a distance, in seconds."""
    spoken = [parse_duration(match[1]) for match in _RELATIVE.finditer(text)]
    spoken += [parse_duration(match[1] + _CHINESE_UNIT[match[2]]) for match in _CHINESE_SECONDS.finditer(text)]
    return max((wait for wait in spoken if wait is not None), default=None)


def named_moment(text: str, clock: Clock, zone: tzinfo | None) -> datetime | None:
    """The latest moment that the sentence names, UTC. `zone` is meant where the sentence names none (None:
    unknown).
    """
    if clock.reference is None:
        return None
    return max(_moments(text, clock.reference, zone), default=None)


def _moments(text: str, now: datetime, zone: tzinfo | None) -> Iterator[datetime]:
    for match in _PIPE_EPOCH.finditer(text):
        if (moment := parse_epoch(match[1])) is not None:
            yield moment
    for match in _NUMERIC.finditer(text):
        if (moment := _numeric_moment(match, zone)) is not None:
            yield moment
    for match in _WALL.finditer(text):
        if (moment := _wall_moment(match, now, zone)) is not None:
            yield moment


def _numeric_moment(match: re.Match[str], zone: tzinfo | None) -> datetime | None:
    offset = match[3] or ""
    if offset and offset[0] not in "+-":
        offset = "Z"
    return parse_rfc3339(f"{match[1]}T{match[2]}{offset}", zone)


def _wall_moment(match: re.Match[str], now: datetime, zone: tzinfo | None) -> datetime | None:
    zone = zone_named(match["zone"] or match["utc"]) if match["zone"] or match["utc"] else zone
    at = _time_of_day(match)
    if zone is None or at is None:
        return None
    try:
        if match["month"]:
            return _nearest(match, at, now, zone)
        return _next(at, now, zone)
    except (ValueError, OverflowError):  # "Feb 31st", or the ends of the calendar
        return None


def _time_of_day(match: re.Match[str]) -> time | None:
    hour, half = int(match["hour"]), (match["half"] or "")[:1].lower()
    if not half and match["minute"] is None:
        return None  # "again 3" names no time
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    minute = int(match["minute"] or 0)
    return time(hour, minute) if hour < 24 and minute < 60 else None


def _next(at: time, now: datetime, zone: tzinfo) -> datetime:
    today = now.astimezone(zone).date()
    moment = _on(today, at, zone)
    return moment if moment > now - _JUST_PASSED else _on(today + timedelta(days=1), at, zone)


def _nearest(match: re.Match[str], at: time, now: datetime, zone: tzinfo) -> datetime | None:
    """A date without a year is the one nearest to now: a reset that has just passed is not next year's."""
    month = _MONTHS.get(match["month"].lower())
    if month is None:
        return None
    this_year = now.astimezone(zone).year
    years = [int(match["year"])] if match["year"] else [this_year - 1, this_year, this_year + 1]
    candidates = [_on(date(year, month, int(match["day"])), at, zone) for year in years if _exists(year, match)]
    return min(candidates, key=lambda moment: abs(moment - now), default=None)


def _exists(year: int, match: re.Match[str]) -> bool:
    """29 February exists in some years only."""
    try:
        date(year, _MONTHS[match["month"].lower()], int(match["day"]))
    except ValueError:
        return False
    return True


def _on(day: date, at: time, zone: tzinfo) -> datetime:
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
