"""Virtual time: what is to happen, in order; of the same microsecond, in the order it was planned."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

SECOND_US = 1_000_000


class Planned:
    """Something that will happen, unless it is called off."""

    __slots__ = ("_what",)

    def __init__(self, what: Callable[[], None]) -> None:
        self._what: Callable[[], None] | None = what

    def call_off(self) -> None:
        self._what = None

    def happen(self) -> None:
        if self._what is not None:
            self._what()


class Timeline:
    def __init__(self) -> None:
        self.now_us = 0
        self._heap: list[tuple[int, int, Planned]] = []
        self._order = itertools.count()

    def at(self, when_us: int, what: Callable[[], None]) -> Planned:
        """Plan `what` for `when_us`; what is planned for the past happens next."""
        planned = Planned(what)
        heapq.heappush(self._heap, (max(when_us, self.now_us), next(self._order), planned))
        return planned

    def after(self, delay_us: int, what: Callable[[], None]) -> Planned:
        return self.at(self.now_us + delay_us, what)

    def advance(self, to_us: int) -> bool:
        """Let everything happen that is planned up to and including `to_us`. Whether there is more to come."""
        while self._heap and self._heap[0][0] <= to_us:
            self.now_us, _, planned = heapq.heappop(self._heap)
            planned.happen()
        self.now_us = max(self.now_us, to_us)
        return bool(self._heap)


def in_us(seconds: float) -> int:
    return round(seconds * SECOND_US)
