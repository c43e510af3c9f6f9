"""The relay's own tiny calls that find out whether something used up is back before its time.

Never a caller's request: a probe starts at once or not at all, stands in no line and is not held up by the closing it
asks about. Once for all processes: the row's `next_probe_at` is moved on by whoever claims it. A failed probe extends
nothing; a successful one clears the state everywhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog
from django.db import Error as DatabaseError

from relay_project.quota.states import OpenState
from relay_project.tasks import TaskOwner
from scheduling.clock import Timer

log = structlog.get_logger(__name__)

LOOK_EVERY_US = 15_000_000

Claim = Callable[[datetime], Awaitable[list[OpenState]]]
Probe = Callable[[OpenState], Awaitable[bool]]  # True: it is back


class Probes:
    def __init__(self, claim: Claim, probe: Probe, back: Callable[[OpenState], None], tasks: TaskOwner) -> None:
        self._claim = claim
        self._probe = probe
        self._back = back
        self._tasks = tasks
        self._clock = tasks.clock
        self._timer: Timer | None = None

    def start(self) -> None:
        self._timer = self._clock.call_at(self._clock.now_us() + LOOK_EVERY_US, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._tasks.spawn(self.run_due())
        self.start()

    async def run_due(self) -> None:
        """Probe what is due."""
        now = datetime.fromtimestamp(self._clock.wall_us() / 1e6, UTC)
        try:
            due = await self._claim(now)
        except DatabaseError as error:
            log.warning("probes could not be claimed", error=type(error).__name__)
            return
        for state in due:
            if await self._probe(state):
                self._back(state)
