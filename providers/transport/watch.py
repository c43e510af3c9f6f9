"""The four clocks of a call (connect, first byte, idle, total) on one lazily re-armed timer.

A chunk only moves a due time; the timer is left where it is and, when it fires early, is set anew. So a
stream of ten thousand chunks costs a handful of timers. Time comes from the injected clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..faults import Fault

_SECOND_US = 1_000_000


class TimerLike(Protocol):
    def cancel(self) -> None: ...


class ClockLike(Protocol):
    """What the transport needs of a clock."""

    def now_us(self) -> int:
        """Monotonic microseconds."""

    def call_at(self, when_us: int, callback: Callable[[], None]) -> TimerLike:
        """Call back on the running loop at monotonic `when_us`."""


class Watch:
    """Calls `on_expired` once, with the clock that ran out, unless closed before."""

    __slots__ = (
        "_clock",
        "_due_us",
        "_fault",
        "_timer",
        "_timer_at_us",
        "_total_due_us",
        "expired",
        "on_expired",
    )

    def __init__(self, clock: ClockLike, total_s: float | None, on_expired: Callable[[], None]) -> None:
        self._clock = clock
        self.on_expired = on_expired
        self.expired: Fault | None = None
        self._fault = Fault.TOTAL_TIMEOUT
        self._due_us: int | None = None
        self._timer: TimerLike | None = None
        self._timer_at_us = 0
        self._total_due_us = None if total_s is None else clock.now_us() + int(total_s * _SECOND_US)

    def enter(self, fault: Fault, limit_s: float | None) -> None:
        """Begin to wait for something that may take `limit_s` seconds; it ends the wait before."""
        self._fault = fault
        self._due_us = None if limit_s is None else self._clock.now_us() + int(limit_s * _SECOND_US)
        if self._timer is None or (self._due_us is not None and self._due_us < self._timer_at_us):
            self._arm()

    def leave(self) -> None:
        """What was waited for has come; only the total clock runs on."""
        self._due_us = None

    def close(self) -> None:
        self.on_expired = _nothing
        self._due_us = self._total_due_us = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_us = min((due for due in (self._due_us, self._total_due_us) if due is not None), default=None)
        if next_us is not None:
            self._timer_at_us = next_us
            self._timer = self._clock.call_at(next_us, self._fire)

    def _fire(self) -> None:
        self._timer = None
        now_us = self._clock.now_us()
        if self._total_due_us is not None and now_us >= self._total_due_us:
            self._expire(Fault.TOTAL_TIMEOUT)
        elif self._due_us is not None and now_us >= self._due_us:
            self._expire(self._fault)
        else:
            self._arm()

    def _expire(self, fault: Fault) -> None:
        self.expired = fault
        on_expired = self.on_expired
        self.close()
        on_expired()


def _nothing() -> None:
    """What a closed watch calls: it must not keep an answer alive that is over."""
