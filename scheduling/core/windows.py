"""What was charged in a window, and when there is room again.

A sliding window is half-open: at t it holds what was charged in (t − W, t], so a charge at s leaves exactly at s + W.
Up to ten minutes charges keep their own microsecond; longer windows are kept in at most 1,440 counters, each charge
counted as if it came at the end of its counter: rounded against us. A calendar window is one counter a period; it opens
5 s after the reset, and what starts in those 5 s counts in both periods.

Twin in a store: one map stamp → amount, one sorted set of stamps, one total.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from scheduling.core.moment import FAR_US, MINUTE_US, SECOND_US, Moment, ceil_div
from scheduling.core.periods import period_bounds

EXACT_US: Final = 10 * MINUTE_US
COUNTERS: Final = 1440
OPENS_AFTER_US: Final = 5 * SECOND_US


class Window(Protocol):
    held: int
    """Reserved without a time: by tickets in line, or for what is charged only as it is produced."""

    def add(self, amount: int, now: Moment) -> int:
        """Charge; returns the stamp under which the charge can be corrected."""

    def adjust(self, stamp: int, delta: int) -> None:
        """Correct a charge; one that has left the window changes nothing."""

    def used(self, now: Moment) -> int: ...

    def earliest(self, amount: int, limit: int, now: Moment, forgiven: int = 0) -> int:
        """Monotonic µs at which `amount` fits if nothing else comes; FAR_US if time alone does not help.

        `forgiven` is taken off what is charged: with all that may yet be given back, the answer is a lower bound."""

    def copy(self) -> Window: ...


class SlidingWindow:
    __slots__ = ("_amounts", "_grain_us", "_stamps", "_total", "held", "length_us")

    def __init__(self, length_us: int) -> None:
        self.length_us = length_us
        self.held = 0
        self._grain_us = 1 if length_us <= EXACT_US else ceil_div(length_us, COUNTERS - 1)
        self._stamps: deque[int] = deque()
        self._amounts: dict[int, int] = {}
        self._total = 0

    def add(self, amount: int, now: Moment) -> int:
        stamp = now.us if self._grain_us == 1 else ceil_div(now.us, self._grain_us) * self._grain_us
        if stamp in self._amounts:
            self._amounts[stamp] += amount
        else:
            self._stamps.append(stamp)
            self._amounts[stamp] = amount
        self._total += amount
        return stamp

    def adjust(self, stamp: int, delta: int) -> None:
        amount = self._amounts.get(stamp)
        if amount is not None:
            delta = max(delta, -amount)
            self._amounts[stamp] = amount + delta
            self._total += delta

    def used(self, now: Moment) -> int:
        self._trim(now.us)
        return self._total + self.held

    def earliest(self, amount: int, limit: int, now: Moment, forgiven: int = 0) -> int:
        missing = self.used(now) - forgiven + amount - limit
        if missing <= 0:
            return now.us
        for stamp in self._stamps:
            missing -= self._amounts[stamp]
            if missing <= 0:
                return stamp + self.length_us
        return FAR_US

    def copy(self) -> SlidingWindow:
        twin = SlidingWindow(self.length_us)
        twin.held, twin._total = self.held, self._total
        twin._stamps, twin._amounts = self._stamps.copy(), self._amounts.copy()
        return twin

    def _trim(self, now_us: int) -> None:
        left_us = now_us - self.length_us
        stamps = self._stamps
        while stamps and stamps[0] <= left_us:
            self._total -= self._amounts.pop(stamps.popleft())


class CalendarWindow:
    __slots__ = ("_counts", "_period", "_zone", "held")

    def __init__(self, period: str, zone: str) -> None:
        self.held = 0
        self._period, self._zone = period, zone
        self._counts: dict[int, int] = {}  # period's start → charged

    def add(self, amount: int, now: Moment) -> int:
        current, ruling = self._starts(now)
        for start in {current, ruling}:
            self._counts[start] = self._counts.get(start, 0) + amount
        return current

    def adjust(self, stamp: int, delta: int) -> None:
        if stamp in self._counts:
            self._counts[stamp] = max(0, self._counts[stamp] + delta)

    def used(self, now: Moment) -> int:
        current, ruling = self._starts(now)
        for start in [start for start in self._counts if start < ruling]:
            del self._counts[start]
        return max(self._counts.get(current, 0), self._counts.get(ruling, 0)) + self.held

    def earliest(self, amount: int, limit: int, now: Moment, forgiven: int = 0) -> int:
        if self.used(now) - forgiven + amount <= limit:
            return now.us
        if self.held + amount > limit:
            return FAR_US
        _, end_us = period_bounds(now.wall_us - OPENS_AFTER_US, self._period, self._zone)
        return now.us + end_us + OPENS_AFTER_US - now.wall_us

    def copy(self) -> CalendarWindow:
        twin = CalendarWindow(self._period, self._zone)
        twin.held, twin._counts = self.held, self._counts.copy()
        return twin

    def _starts(self, now: Moment) -> tuple[int, int]:
        current, _ = period_bounds(now.wall_us, self._period, self._zone)
        ruling, _ = period_bounds(now.wall_us - OPENS_AFTER_US, self._period, self._zone)
        return current, ruling
