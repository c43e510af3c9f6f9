"""One timer that is set, set anew or put away: whoever holds it need not know whether it is running."""

from __future__ import annotations

from collections.abc import Callable

from scheduling.clock import Clock, Timer


class Alarm:
    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._timer: Timer | None = None

    @property
    def is_set(self) -> bool:
        return self._timer is not None

    def set(self, when_us: int | None) -> None:
        """Ring once at monotonic `when_us` and at no other time; None = not at all."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if when_us is None else self._clock.call_at(when_us, self._rings)

    def _rings(self) -> None:
        self._timer = None
        self._ring()
