"""Calendar periods in a zone, daylight saving right: the bounds of the day, week or month that holds a moment."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from scheduling.core.moment import SECOND_US

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR_US = 3600 * SECOND_US


def period_bounds(wall_us: int, period: str, zone: str) -> tuple[int, int]:
    """Start and end (epoch µs) of the `day`, `week` (from Monday) or `month` in `zone` that holds `wall_us`."""
    start_us, end_us = _bounds(wall_us // _HOUR_US, period, zone)
    if wall_us >= end_us:  # the hour holds the end (zones off by half an hour)
        return _bounds(wall_us // _HOUR_US + 1, period, zone)
    return start_us, end_us


@lru_cache(maxsize=256)
def _bounds(epoch_hour: int, period: str, zone: str) -> tuple[int, int]:
    tz = ZoneInfo(zone or "UTC")
    local = (_EPOCH + timedelta(hours=epoch_hour)).astimezone(tz).date()
    first, last = _days(local, period)
    return _midnight_us(first, tz), _midnight_us(last, tz)


def _days(day: date, period: str) -> tuple[date, date]:
    if period == "day":
        return day, day + timedelta(days=1)
    if period == "week":
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    if period == "month":
        first = day.replace(day=1)
        return first, (first + timedelta(days=32)).replace(day=1)
    raise ValueError(f"unknown calendar period {period!r}: day, week or month")


def _midnight_us(day: date, tz: ZoneInfo) -> int:
    local = datetime(day.year, day.month, day.day, tzinfo=tz)
    return (local.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
