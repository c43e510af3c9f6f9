"""Three ways to count in a window: sliding, cut at fixed boundaries, and a bucket that refills continuously.

Each answers `wait_us(now, amount)`: 0 = there is room, None = it never fits, else the microseconds until it
does. Times are microseconds and never run backwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Protocol


@dataclass(slots=True)
class Entry:
    """What one request was charged; `correct` changes it."""

    at_us: int
    amount: int


class Window(Protocol):
    limit: int

    def used(self, now_us: int) -> int: ...

    def wait_us(self, now_us: int, amount: int) -> int | None: ...

    def empty_in_us(self, now_us: int) -> int:
        """Until all of the limit is there again, if nothing else comes."""

    def add(self, now_us: int, amount: int) -> Entry: ...

    def correct(self, entry: Entry, now_us: int, amount: int) -> None:
        """The entry turned out to cost `amount`. One that has left the window changes nothing."""

    def change_limit(self, now_us: int, limit: int) -> None: ...


class SlidingWindow:
    """Whatever happened in (now − span, now]."""

    def __init__(self, limit: int, span_us: int) -> None:
        self.limit = limit
        self._span_us = span_us
        self._entries: deque[Entry] = deque()

    def used(self, now_us: int) -> int:
        while self._entries and self._entries[0].at_us <= now_us - self._span_us:
            self._entries.popleft()
        return sum(entry.amount for entry in self._entries)

    def wait_us(self, now_us: int, amount: int) -> int | None:
        if amount > self.limit:
            return None
        excess = self.used(now_us) + amount - self.limit
        if excess <= 0:
            return 0
        for entry in self._entries:
            excess -= entry.amount
            if excess <= 0:
                return entry.at_us + self._span_us - now_us
        return None

    def empty_in_us(self, now_us: int) -> int:
        return self._entries[-1].at_us + self._span_us - now_us if self.used(now_us) else 0

    def add(self, now_us: int, amount: int) -> Entry:
        entry = Entry(now_us, amount)
        self._entries.append(entry)
        return entry

    def correct(self, entry: Entry, now_us: int, amount: int) -> None:
        entry.amount = amount

    def change_limit(self, now_us: int, limit: int) -> None:
        self.limit = limit


Boundaries = Callable[[int], tuple[int, int]]


def every(span_us: int) -> Boundaries:
    """Periods of `span_us` since the clock's zero."""

    def period(now_us: int) -> tuple[int, int]:
        start_us = now_us // span_us * span_us
        return start_us, start_us + span_us

    return period


class FixedWindow:
    """Counted from nought in each period, as with Azure's minute or Gemini's Pacific day."""

    def __init__(self, limit: int, boundaries: Boundaries) -> None:
        self.limit = limit
        self._boundaries = boundaries
        self._start_us, self._end_us = boundaries(0)
        self._total = 0

    def used(self, now_us: int) -> int:
        if now_us >= self._end_us:
            self._start_us, self._end_us = self._boundaries(now_us)
            self._total = 0
        return self._total

    def wait_us(self, now_us: int, amount: int) -> int | None:
        if amount > self.limit:
            return None
        return 0 if self.used(now_us) + amount <= self.limit else self._end_us - now_us

    def empty_in_us(self, now_us: int) -> int:
        return self._end_us - now_us if self.used(now_us) else 0

    def add(self, now_us: int, amount: int) -> Entry:
        self.used(now_us)
        self._total += amount
        return Entry(now_us, amount)

    def correct(self, entry: Entry, now_us: int, amount: int) -> None:
        self.used(now_us)
        if entry.at_us >= self._start_us:
            self._total += amount - entry.amount
            entry.amount = amount

    def change_limit(self, now_us: int, limit: int) -> None:
        self.limit = limit


class Bucket:
    """Refills by limit/span, always. Gives the wait that OpenAI and Groq print: (used + asked − limit) /
    limit × span.
    """

    def __init__(self, limit: int, span_us: int) -> None:
        self.limit = limit
        self._span_us = span_us
        self._level = 0.0
        self._at_us = 0

    def used(self, now_us: int) -> int:
        self._leak(now_us)
        return ceil(self._level - 1e-6)

    def wait_us(self, now_us: int, amount: int) -> int | None:
        if amount > self.limit:
            return None
        self._leak(now_us)
        return max(0, self._time_for(self._level + amount - self.limit))

    def empty_in_us(self, now_us: int) -> int:
        self._leak(now_us)
        return self._time_for(self._level)

    def add(self, now_us: int, amount: int) -> Entry:
        self._leak(now_us)
        self._level += amount
        return Entry(now_us, amount)

    def correct(self, entry: Entry, now_us: int, amount: int) -> None:
        self._leak(now_us)
        self._level = max(0.0, self._level + amount - entry.amount)
        entry.amount = amount

    def change_limit(self, now_us: int, limit: int) -> None:
        self._leak(now_us)
        self.limit = limit

    def _leak(self, now_us: int) -> None:
        self._level = max(0.0, self._level - (now_us - self._at_us) * self.limit / self._span_us)
        self._at_us = now_us

    def _time_for(self, amount: float) -> int:
        return ceil(amount * self._span_us / self.limit - 1e-6) if self.limit else self._span_us
