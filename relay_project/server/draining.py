"""Stopping in two steps: the first signal lets running streams end, the second hurries.

The same for both servers. An application may offer `async def drain()`: called at the first signal, it tells
those who wait in line, refuses what is new, and returns when nothing of its own is running any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

log = logging.getLogger(__name__)

POLL_S = 0.05
SETTLE_LIMIT_S = 5.0  # what a cancelled application may take to put its books in order


class Drain:
    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.asked = asyncio.Event()
        self._hurried = asyncio.Event()

    def signal(self) -> None:
        """Ask for the stop; asked again, hurry."""
        if self.asked.is_set():
            self._hurried.set()
        self.asked.set()

    async def wait(self, application: object, is_quiet: Callable[[], bool]) -> bool:
        """Whether all ended by itself: within the limit and before a second signal."""
        ended = asyncio.ensure_future(_ended(application, is_quiet))
        hurried = asyncio.ensure_future(self._hurried.wait())
        await asyncio.wait({ended, hurried}, timeout=self.limit_s, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        if ended.done():
            ended.result()
            return True
        ended.cancel()
        log.warning("cancelling what is still running")
        return False


async def _ended(application: object, is_quiet: Callable[[], bool]) -> None:
    drain: Callable[[], Awaitable[None]] | None = getattr(application, "drain", None)
    if drain is not None:
        await drain()
    while not is_quiet():  # noqa: ASYNC110  the servers keep sets, not events
        await asyncio.sleep(POLL_S)


async def cancel_and_settle(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what is still running and give it `SETTLE_LIMIT_S` to end."""
    running = [task for task in tasks if not task.done()]
    if not running:
        return
    for task in running:
        task.cancel()
    _, stuck = await asyncio.wait(running, timeout=SETTLE_LIMIT_S)
    if stuck:
        log.error("%d tasks have not ended after they were cancelled", len(stuck))
