"""The only reader of time.

Two times are told apart: `now_us` is monotonic and drives lanes, lines and windows; `wall_us` is the calendar (epoch,
UTC) and drives resets at a wall-clock hour. Both are integers in microseconds so that every backend rounds alike.
Waiting is asked of the clock too: a test advances a `FakeClock` and nobody sleeps.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Protocol

SECOND_US = 1_000_000


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now_us(self) -> int:
        """Monotonic microseconds."""

    def wall_us(self) -> int:
        """Microseconds since the epoch, UTC."""

    def call_at(self, when_us: int, callback: Callable[[], None]) -> Timer:
        """Call back on the running loop at monotonic `when_us` (at once if that has passed)."""

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000

    def wall_us(self) -> int:
        return time.time_ns() // 1000

    def call_at(self, when_us: int, callback: Callable[[], None]) -> Timer:
        delay_s = max(0, when_us - self.now_us()) / SECOND_US
        return asyncio.get_running_loop().call_later(delay_s, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class FakeClock:
    """A clock that stands still until told to go on. `advance` fires timers in order, letting tasks run between."""

    def __init__(self, now_us: int = 1_000 * SECOND_US, wall_us: int = 1_790_000_000 * SECOND_US) -> None:
        self._now_us = now_us
        self._wall_offset_us = wall_us - now_us
        self._timers: list[tuple[int, int, _FakeTimer]] = []
        self._order = itertools.count()

    def now_us(self) -> int:
        return self._now_us

    def wall_us(self) -> int:
        return self._now_us + self._wall_offset_us

    def call_at(self, when_us: int, callback: Callable[[], None]) -> Timer:
        timer = _FakeTimer(callback)
        heapq.heappush(self._timers, (max(when_us, self._now_us), next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.call_at(self._now_us + round(seconds * SECOND_US), lambda: _wake(woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Move on by `seconds`, firing what is due in order."""
        end_us = self._now_us + round(seconds * SECOND_US)
        await _let_tasks_run()
        while self._timers and self._timers[0][0] <= end_us:
            when_us, _, timer = heapq.heappop(self._timers)
            self._now_us = max(self._now_us, when_us)
            timer.fire()
            await _let_tasks_run()
        self._now_us = end_us
        await _let_tasks_run()


class _FakeTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


async def _let_tasks_run(rounds: int = 20) -> None:
    for _ in range(rounds):
        await asyncio.sleep(0)
