"""The simulator's own small idea of time. Whoever builds a simulator passes a clock; tests pass one that
stands still.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

SECOND_US = 1_000_000


class Clock(Protocol):
    """Monotonic microseconds, and waiting by them."""

    def now_us(self) -> int: ...

    async def sleep(self, seconds: float) -> None: ...


class LoopClock:
    """The running event loop's own clock."""

    def now_us(self) -> int:
        return round(asyncio.get_running_loop().time() * SECOND_US)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
