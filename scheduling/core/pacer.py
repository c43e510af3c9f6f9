"""Even spacing of starts: GCRA (the virtual-scheduling form of the leaky bucket, ITU-T I.371), in whole microseconds.

A start moves the theoretical arrival time on by one interval; a start is early by at most (burst − 1) intervals. With
burst 1 consecutive starts lie exactly one interval apart or more. In any span of length S there are at most
burst + S / interval starts; the ledger beside the pacer takes off the burst.
"""

from __future__ import annotations

from scheduling.core.moment import ceil_div


class Pacer:
    __slots__ = ("_before_us", "_due_us", "_last_number", "_last_us", "burst", "interval_us")

    def __init__(self, interval_us: int, burst: int) -> None:
        self.interval_us = interval_us
        self.burst = burst
        self._due_us = 0  # when the next start would be exactly in time
        self._before_us = 0  # the same before the last start
        self._last_us = 0
        self._last_number = -1

    def earliest(self) -> int:
        """The moment from which the next start is allowed."""
        return self._due_us - (self.burst - 1) * self.interval_us

    def start(self, number: int, now_us: int) -> None:
        self._before_us, self._last_us, self._last_number = self._due_us, now_us, number
        self._due_us = max(self._due_us, now_us) + self.interval_us

    def forget(self, number: int) -> None:
        """That start was never sent: the next moves back, if it was the last."""
        if number == self._last_number:
            self._due_us, self._last_number = self._before_us, -1

    def retune(self, interval_us: int, burst: int) -> None:
        """Another limit: what is still to be waited after the last start scales with it."""
        ahead_us = self._due_us - self._last_us
        if ahead_us > 0:
            self._due_us = self._last_us + ceil_div(ahead_us * interval_us, self.interval_us)
        self._before_us = min(self._before_us, self._due_us)
        self.interval_us, self.burst = interval_us, burst

    def copy(self) -> Pacer:
        twin = Pacer(self.interval_us, self.burst)
        twin._due_us, twin._before_us = self._due_us, self._before_us
        twin._last_us, twin._last_number = self._last_us, self._last_number
        return twin
