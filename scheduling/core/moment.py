"""A moment as the core is told it: it never reads a clock itself."""

from __future__ import annotations

from typing import Final, NamedTuple

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
FAR_US: Final = 1 << 52
"""Later than anything: "not by time alone". Below 2^53, so a store that counts in doubles holds it exactly."""


class Moment(NamedTuple):
    """Now, twice: `us` is monotonic and drives lanes, lines and windows; `wall_us` (epoch, UTC) drives calendars."""

    us: int
    wall_us: int


def ceil_div(dividend: int, divisor: int) -> int:
    """Integer division rounded up: intervals are always rounded against us."""
    return -(-dividend // divisor)
