"""A breaker per target: faults over a window, never a single one, send a role's requests elsewhere for a while.

It refuses nobody: a request that names the model goes there as ever, and a role asks it last.

Opens when, within the last 30 s, at least 5 calls failed and they are at least half of all. Stays open 10 s, twice as
long each time it opens again within a minute of the last opening's end, at most 2 minutes. After it, calls flow; a
success forgets the faults. Bound: at most `KEPT` calls are remembered per target. Pure: the moment is an argument.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

WINDOW_US = 30_000_000
MIN_FAULTS = 5
FIRST_OPEN_US = 10_000_000
MAX_OPEN_US = 120_000_000
CALM_US = 60_000_000
KEPT = 64


@dataclass(slots=True)
class Breaker:
    _calls: deque[tuple[int, bool]] = field(default_factory=lambda: deque(maxlen=KEPT))  # (when, failed)
    _open_until_us: int = 0
    _last_open_us: int = 0

    def succeeded(self, now_us: int) -> None:
        """The target answers: faults before it say nothing any more."""
        self._calls.clear()
        self._calls.append((now_us, False))

    def failed(self, now_us: int) -> int | None:
        """One more fault; answers until when the target is to be left alone, if this one opened the breaker."""
        self._calls.append((now_us, True))
        recent = [failed for when_us, failed in self._calls if when_us > now_us - WINDOW_US]
        if now_us < self._open_until_us or sum(recent) < max(MIN_FAULTS, len(recent) / 2):
            return None
        again = self._last_open_us > 0 and now_us < self._open_until_us + CALM_US
        self._last_open_us = min(2 * self._last_open_us, MAX_OPEN_US) if again else FIRST_OPEN_US
        self._open_until_us = now_us + self._last_open_us
        self._calls.clear()
        return self._open_until_us

    def is_open(self, now_us: int) -> bool:
        return now_us < self._open_until_us

    def is_idle(self, now_us: int) -> bool:
        """Nothing worth remembering."""
        return now_us > self._open_until_us + CALM_US and all(w <= now_us - WINDOW_US for w, _ in self._calls)
