"""The postman's rounds: a poll twice a second, when there is mail, and when something is due. One at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from scheduling.backends.valkey.link import Link, LinkDown
from scheduling.backends.valkey.sender import RETRY_S
from scheduling.clock import SECOND_US, Clock
from scheduling.timers import Alarm

log = structlog.get_logger(__name__)

POLL_US: Final = SECOND_US // 2
"""Well below the 2 s an offer lasts: a nudge that gets lost costs half a second, not a grant."""


class Rounds:
    """`send`: puts a poll on its way, and resolves the future when that is over."""

    def __init__(self, link: Link, clock: Clock, send: Callable[[asyncio.Future[None]], None]) -> None:
        self._link = link
        self._clock = clock
        self._send = send
        self._next = Alarm(clock, self.poll)
        self._polling: asyncio.Future[None] | None = None

    def poll(self) -> None:
        self._next.set(self._clock.now_us() + POLL_US)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.get_running_loop().create_future()
            self._polling.add_done_callback(_heed_nothing)
            self._send(self._polling)

    async def listen(self, box: str) -> None:
        """Poll whenever nudged, until cancelled."""
        while True:
            try:
                async for _ in self._link.nudges(box):
                    self.poll()
            except LinkDown as error:
                log.info("not_nudged", trouble=str(error))
            await self._clock.sleep(RETRY_S)

    def close(self) -> None:
        self._next.set(None)


def _heed_nothing(done: asyncio.Future[None]) -> None:
    """A poll that failed is followed by another."""
    if not done.cancelled():
        done.exception()
