"""A short memory of what something took: run times, answer lengths. Percentiles over the last values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque

REMEMBERED = 64


class Sample:
    __slots__ = ("_recent", "_sorted")

    def __init__(self) -> None:
        self._recent: deque[int] = deque()
        self._sorted: list[int] = []

    def __len__(self) -> int:
        return len(self._sorted)

    def add(self, value: int) -> None:
        if len(self._recent) == REMEMBERED:
            oldest = self._recent.popleft()
            del self._sorted[bisect_left(self._sorted, oldest)]
        self._recent.append(value)
        insort(self._sorted, value)

    def percentile(self, percent: int, above: int = -1) -> int | None:
        """The value below which `percent` of those greater than `above` lie; None if there are none."""
        start = bisect_right(self._sorted, above)
        count = len(self._sorted) - start
        return self._sorted[start + (count - 1) * percent // 100] if count else None

    def copy(self) -> Sample:
        twin = Sample()
        twin._recent, twin._sorted = self._recent.copy(), self._sorted.copy()
        return twin
