"""Keeps children running: one that dies is started again, later each time it dies young; all are stopped
together.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import NoReturn

from relay_project.server.children import Announcement, ChildSpec, how_it_ended, signal_session, spawn
from relay_project.server.errors import ChildDied
from scheduling.clock import SECOND_US, Clock

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
GROWN_UP_S = 60.0  # a child that ran this long died of something new: its pauses start again

Say = Callable[[str], None]


class Child:
    """One supervised process."""

    def __init__(self, spec: ChildSpec, clock: Clock, say: Say) -> None:
        self.spec = spec
        self._clock = clock
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._hurried = asyncio.Event()

    async def start(self) -> None:
        """Start it and, where it announces itself, wait until it is ready. Raises `ChildDied`."""
        announcement = Announcement() if self.spec.announces else None
        self._process = await spawn(self.spec, announcement)
        if announcement is not None and not await announcement.wait():
            await self.died()

    def keep(self) -> None:
        """From now on start it again whenever it ends."""
        self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        pause_s = FIRST_PAUSE_S
        while self._process is not None:
            started_us = self._clock.now_us()
            code = await self._process.wait()
            if self._stopping.is_set():
                return
            signal_session(self._process.pid, signal.SIGKILL)  # what it may have left
            if self._clock.now_us() - started_us > GROWN_UP_S * SECOND_US:
                pause_s = FIRST_PAUSE_S
            self._say(f"{self.spec.name} {how_it_ended(code)}; starting it again in {pause_s:g} s")
            if await self._stopped_within(pause_s):
                return
            self._process = await spawn(self.spec)
            if self._stopping.is_set():  # asked while it was being started
                self._signal(signal.SIGKILL)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def died(self) -> NoReturn:
        """Wait for the end of a child that is not kept yet. Raises `ChildDied`."""
        if self._process is None:
            raise RuntimeError("not started")
        raise ChildDied(f"{self.spec.name} {how_it_ended(await self._process.wait())}")

    async def stop(self) -> None:
        """End it and all it has started: SIGTERM, then SIGKILL after its time."""
        self._stopping.set()
        if self._process is None:
            return
        self._signal(signal.SIGTERM)
        if not await self._ended_within(self.spec.stop_within_s):
            self._say(f"{self.spec.name} has not stopped within {self.spec.stop_within_s:g} s; killing it")
        signal_session(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        if self._keeper is not None:
            await self._keeper

    def hurry(self) -> None:
        """A second stop signal, for children that drain."""
        if self._stopping.is_set() and not self._hurried.is_set():
            self._signal(signal.SIGTERM)

    async def _ended_within(self, seconds: float) -> bool:
        process = self._process
        if process is None:
            return True
        try:
            await asyncio.wait_for(process.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)


class Supervisor:
    """A list of children in the order they were started. Stopped group by group, the last started first."""

    def __init__(self, clock: Clock, say: Say) -> None:
        self._clock = clock
        self._say = say
        self._groups: list[list[Child]] = []

    async def start(self, *specs: ChildSpec) -> list[Child]:
        """Start a group, side by side. Raises `ChildDied`; what has started is stopped by `stop`."""
        group = [Child(spec, self._clock, self._say) for spec in specs]
        self._groups.append(group)
        await asyncio.gather(*(child.start() for child in group))
        return group

    def keep_all(self) -> None:
        for child in self._children():
            child.keep()

    async def stop(self) -> None:
        for group in reversed(self._groups):
            await asyncio.gather(*(child.stop() for child in group))

    def hurry(self) -> None:
        for child in self._children():
            child.hurry()

    async def first_death(self) -> NoReturn:
        """Wait until one of the children ends, while they are not kept yet. Raises `ChildDied`."""
        await asyncio.gather(*(child.died() for child in self._children()))
        raise RuntimeError("nothing was started")

    def _children(self) -> list[Child]:
        return [child for group in self._groups for child in group]
