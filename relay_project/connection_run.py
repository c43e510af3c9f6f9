"""A check or test call under way, as those see it who wait for its end."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from relay_project.connection_report import CheckReport
from scheduling.clock import SECOND_US, Clock
from scheduling.watching import Waiting

RENEWED_US = SECOND_US


class Phase(enum.StrEnum):
    STARTING = "starting"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where it stands now. `phase_us`: since this phase began; `told_us`: since `waiting` was told."""

    phase: Phase
    phase_us: int = 0
    waiting: Waiting | None = None
    told_us: int = 0
    report: CheckReport | None = None


class Run:
    """`outlives`: it goes on when all who look at it have left; else the last one to leave ends it."""

    def __init__(
        self, clock: Clock, work: Callable[[Run], Coroutine[Any, Any, CheckReport]], *, outlives: bool
    ) -> None:
        self._clock = clock
        self._outlives = outlives
        self._phase = Phase.STARTING
        self._phase_at_us = clock.now_us()
        self._waiting: Waiting | None = None
        self._told_at_us = 0
        self._viewers: set[asyncio.Event] = set()
        self.task: asyncio.Task[CheckReport] = asyncio.create_task(work(self))
        self.task.add_done_callback(lambda _task: self._enter(Phase.DONE))

    def waits(self, waiting: Waiting) -> None:
        """For the coordinator: this is where it stands in line."""
        self._waiting, self._told_at_us = waiting, self._clock.now_us()
        self._enter(Phase.WAITING)

    def starts(self) -> None:
        """It has its place on the lanes."""
        self._enter(Phase.RUNNING)

    async def report(self) -> CheckReport:
        """The end of it. Whoever waits here may be cancelled without cancelling the work."""
        return await asyncio.shield(self.task)

    async def progress(self) -> AsyncGenerator[Progress, None]:
        """Now, at every change and every second; the last one has the report. Raises what the work raised."""
        news = asyncio.Event()
        self._viewers.add(news)
        try:
            while not self.task.done():
                yield self._now()
                renewal = self._clock.call_at(self._clock.now_us() + RENEWED_US, news.set)
                await news.wait()
                renewal.cancel()
                news.clear()
        finally:
            self._viewers.discard(news)
        yield Progress(Phase.DONE, report=self.task.result())

    def left(self) -> None:
        """One who looked has gone."""
        if not self._outlives and not self._viewers:
            self.task.cancel()

    def _now(self) -> Progress:
        now_us = self._clock.now_us()
        waiting = self._waiting if self._phase is Phase.WAITING else None
        return Progress(self._phase, now_us - self._phase_at_us, waiting, now_us - self._told_at_us)

    def _enter(self, phase: Phase) -> None:
        if phase is not self._phase:
            self._phase, self._phase_at_us = phase, self._clock.now_us()
        for viewer in self._viewers:
            viewer.set()
