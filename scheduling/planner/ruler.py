"""How a provider counts: one counter for each limit, its window fixed to the clock or sliding.

A fixed window begins at whole multiples of its length; a sliding one is half-open, (t − W, t]. What is charged can be
given back as long as it is still in the window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Protocol

from scheduling.planner.scenario import Limit
from scheduling.planner.timeline import in_us


class Entry:
    """One charge; its amount may shrink."""

    __slots__ = ("amount", "at_us")

    def __init__(self, at_us: int, amount: int) -> None:
        self.at_us = at_us
        self.amount = amount


class Counter(Protocol):
    def used(self, now_us: int) -> int: ...

    def charge(self, amount: int, now_us: int) -> Entry: ...

    def give_back(self, entry: Entry, amount: int, now_us: int) -> None:
        """Take `amount` off what was charged, if it still counts."""

    def room_at(self, missing: int, now_us: int) -> int:
        """When `missing` of what is used now will have left, if nothing is added (µs)."""


class FixedWindow:
    def __init__(self, length_us: int) -> None:
        self._length_us = length_us
        self._slot = -1
        self._used = 0

    def used(self, now_us: int) -> int:
        slot = now_us // self._length_us
        if slot != self._slot:
            self._slot, self._used = slot, 0
        return self._used

    def charge(self, amount: int, now_us: int) -> Entry:
        self._used = self.used(now_us) + amount
        return Entry(now_us, amount)

    def give_back(self, entry: Entry, amount: int, now_us: int) -> None:
        if entry.at_us // self._length_us == now_us // self._length_us:
            self._used -= amount

    def room_at(self, missing: int, now_us: int) -> int:
        return (now_us // self._length_us + 1) * self._length_us


class SlidingWindow:
    def __init__(self, length_us: int) -> None:
        self._length_us = length_us
        self._entries: deque[Entry] = deque()
        self._used = 0

    def used(self, now_us: int) -> int:
        while self._entries and self._entries[0].at_us <= now_us - self._length_us:
            self._used -= self._entries.popleft().amount
        return self._used

    def charge(self, amount: int, now_us: int) -> Entry:
        entry = Entry(now_us, amount)
        self._entries.append(entry)
        self._used += amount
        return entry

    def give_back(self, entry: Entry, amount: int, now_us: int) -> None:
        if entry.at_us > now_us - self._length_us:
            entry.amount -= amount
            self._used -= amount

    def room_at(self, missing: int, now_us: int) -> int:
        for entry in self._entries:
            missing -= entry.amount
            if missing <= 0:
                return entry.at_us + self._length_us
        return now_us + self._length_us


class Gauge:
    """One limit with its counter."""

    def __init__(self, name: str, measure: str, limit: int, counter: Counter) -> None:
        self.name = name
        self.measure = measure
        self._written = limit
        self.limit = limit
        self.counter = counter

    def scale(self, factor: float) -> None:
        """The limit is now so many times what was written; at least one."""
        self.limit = max(1, round(self._written * factor))

    def room_at(self, amount: int, now_us: int) -> int:
        """When `amount` fits at the earliest if nothing else comes; now if it does already."""
        missing = self.counter.used(now_us) + amount - self.limit
        return self.counter.room_at(missing, now_us) if missing > 0 else now_us

    def fill(self, now_us: int) -> float:
        """Used, as a share of the limit."""
        return self.counter.used(now_us) / self.limit


def gauges(limits: list[Limit]) -> list[Gauge]:
    """Shorter spans first: that is the order in which a provider says which limit it was."""
    found = [gauge for limit in limits for gauge in _gauges_of(limit)]
    return [gauge for _, gauge in sorted(found, key=lambda one: one[0])]


def _gauges_of(limit: Limit) -> Iterator[tuple[float, Gauge]]:
    counter = FixedWindow if limit.window == "fixed" else SlidingWindow
    yield limit.window_s, _gauge(limit.measure, limit.limit, limit.window_s, counter(in_us(limit.window_s)))
    if limit.slice_s is not None:
        share = max(1, int(limit.limit * limit.slice_s / limit.window_s))
        yield limit.slice_s, _gauge(limit.measure, share, limit.slice_s, FixedWindow(in_us(limit.slice_s)))


def _gauge(measure: str, limit: int, span_s: float, counter: Counter) -> Gauge:
    return Gauge(f"{limit:,} {measure} / {span_s:g} s", measure, limit, counter)
