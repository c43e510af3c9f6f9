"""The picture this process shows of the store: fetched after a change, at most four times a second.

What is shown between two fetches is the same picture told for the time it is. Where many wait, a fetch costs more than
a glance, so the next one waits ten times as long as the last one took.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from scheduling.backends.valkey.link import Link, LinkDown
from scheduling.backends.valkey.picture import conversations_of, records_of, state_of
from scheduling.backends.valkey.wire import Shift
from scheduling.clock import SECOND_US, Clock
from scheduling.core.describe import describe
from scheduling.core.moment import Moment
from scheduling.core.predict import predict
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import RelaySpec, SchedulerSpec
from scheduling.core.state import State
from scheduling.timers import Alarm

log = structlog.get_logger(__name__)

PAUSE_US: Final = SECOND_US // 4
EASE: Final = 10


class Pictures:
    def __init__(self, link: Link, clock: Clock, redraw: Callable[[], None]) -> None:
        self._link = link
        self._clock = clock
        self._redraw = redraw
        self._state = State(SchedulerSpec(version=0, relay=RelaySpec(), providers={}))
        self._shift = Shift(0, 0)
        self._version = 0
        self._is_stale = False
        self._next = Alarm(clock, self._start)
        self._not_before_us = 0
        self._fetching: asyncio.Task[None] | None = None

    def changed(self, version: int, shift: Shift) -> None:
        """The store is at that version now."""
        self._shift = shift
        if version != self._version:
            self._version, self._is_stale = version, True
            self._soon()

    def snapshot(self) -> QueueSnapshot:
        return describe(self._state, self._now())

    def predict(self, ticket_ids: Iterable[str]) -> dict[str, int]:
        wanted = set(ticket_ids)
        starts = predict(self._state, self._now(), wanted)
        return {key: starts[key] + self._shift.us for key in wanted if key in starts}

    async def fresh(self) -> None:
        """Until the picture is of the latest change."""
        while self._is_stale or self._fetching is not None:
            if self._fetching is None:
                self._start()
            else:
                await asyncio.wait([self._fetching])

    def close(self) -> None:
        self._next.set(None)
        if self._fetching is not None:
            self._fetching.cancel()

    def _now(self) -> Moment:
        return Moment(self._clock.now_us() - self._shift.us, self._clock.wall_us() - self._shift.wall_us)

    def _soon(self) -> None:
        if self._fetching is None and not self._next.is_set:
            self._next.set(max(self._not_before_us, self._clock.now_us()))

    def _start(self) -> None:
        self._next.set(None)
        self._fetching = asyncio.create_task(self._fetch())
        self._fetching.add_done_callback(self._fetched)

    async def _fetch(self) -> None:
        began_us, self._is_stale = self._clock.now_us(), False
        try:
            fields, config = await self._link.records()
            records = records_of(fields)
            talks = await self._link.talks(conversations_of(records))
        except LinkDown as error:
            log.info("no_picture", trouble=str(error))
            return
        finally:
            self._not_before_us = self._clock.now_us() + PAUSE_US
        if records["root"]:
            self._state = state_of(records, records_of(config), talks)
        took_us = self._clock.now_us() - began_us
        self._not_before_us = self._clock.now_us() + max(PAUSE_US, EASE * took_us)

    def _fetched(self, fetching: asyncio.Task[None]) -> None:
        self._fetching = None
        if fetching.cancelled():
            return
        fetching.result()
        self._redraw()
        if self._is_stale:
            self._soon()
