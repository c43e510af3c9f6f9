"""A trial under way: one call alone, twice, then N at the same moment, all through the relay's own doors.

They are test calls of class `normal`: they stand in line like any other, take lanes, are charged, leave usage rows, and
never run past the lane profile. Alone counts the quicker of two, because the first may have to load the model. When
nobody looks any more, what still runs is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from relay_project.relay import Parts
from relay_project.snapshot import Configuration
from relay_project.together.measure import Ended, Measured, Verdict, measure
from relay_project.together.sending import Asked, Sending, code_words
from scheduling.clock import SECOND_US

FEWEST: Final = 2
MOST: Final = 20
ALONE: Final = 2
_NOT_THROUGH: Final = frozenset({Verdict.FAILED, Verdict.NOT_SENT})


@dataclass(frozen=True, slots=True)
class Stage:
    """Where it stands now."""

    alone: bool
    sent: int = 0
    waiting: int = 0
    running: int = 0
    ended: int = 0
    passed_s: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    asked: Asked
    lanes: int  # what the profile, the keys and the relay let run at once on this model
    sent: int  # how many were sent together; 0 = it did not come to that
    measured: Measured
    others: int  # the most calls of others that ran on the provider meanwhile


class Trial:
    def __init__(self, parts: Parts, refresh: Callable[[], Awaitable[None]], asked: Asked) -> None:
        self._parts = parts
        self._refresh = refresh
        self._asked = asked
        self._clock = parts.tasks.clock
        self._sendings: list[Sending] = []  # of the round under way
        self._alone = True
        self._round_began_us = self._clock.now_us()
        self._others = 0

    async def report(self) -> Report:
        """Carry it out. Cancelling this stops every call of it."""
        await self._refresh()
        lanes = lanes_of(self._parts.configuration(), self._asked.model)
        sent = min(self._asked.count, lanes)
        if sent < FEWEST:
            return Report(self._asked, lanes, 0, measure(None, []), self._others)
        words = code_words(ALONE + sent)
        alone = await self._one_by_one(words[:ALONE])
        if alone[-1].verdict in _NOT_THROUGH:
            return Report(self._asked, lanes, 0, measure(None, alone[-1:]), self._others)
        calls = await self._round(words[ALONE:], alone=False)
        return Report(self._asked, lanes, sent, measure(_quickest_ms(alone), calls), self._others)

    async def progress(self) -> AsyncGenerator[Stage | Report, None]:
        """Where it stands, now and every second; the report last. Closing this early stops the trial."""
        work = asyncio.create_task(self.report())
        try:
            while not work.done():
                yield self._stage()
                await self._next_second(work)
            yield work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _next_second(self, work: asyncio.Task[Report]) -> None:
        """Or the end, if that comes first."""
        second = asyncio.Event()
        timer = self._clock.call_at(self._clock.now_us() + SECOND_US, second.set)
        tick = asyncio.create_task(second.wait())
        try:
            await asyncio.wait([work, tick], return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            tick.cancel()

    async def _one_by_one(self, words: Sequence[str]) -> list[Ended]:
        """As far as they get through; the first that does not is the last."""
        ended: list[Ended] = []
        for word in words:
            ended += await self._round([word], alone=True)
            if ended[-1].verdict in _NOT_THROUGH:
                break
        return ended

    async def _round(self, words: Sequence[str], *, alone: bool) -> list[Ended]:
        self._alone, self._round_began_us = alone, self._clock.now_us()
        self._sendings = [Sending(self._parts, self._asked, word, self._look_around) for word in words]
        tasks = [asyncio.create_task(sending.go(words)) for sending in self._sendings]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _look_around(self) -> None:
        """Who else runs on the provider just now: it takes from what is measured."""
        model = self._parts.configuration().models_by_name[self._asked.model]
        ours = {sending.request_id for sending in self._sendings}
        running = [lease for lease in self._parts.coordinator.snapshot().leases if lease.provider == model.provider]
        others = sum(1 for lease in running if lease.id.partition("/")[0] not in ours)
        self._others = max(self._others, others)

    def _stage(self) -> Stage:
        running = sum(1 for sending in self._sendings if sending.is_running)
        ended = sum(1 for sending in self._sendings if sending.ended_us is not None)
        return Stage(
            alone=self._alone,
            sent=len(self._sendings),
            waiting=len(self._sendings) - running - ended,
            running=running,
            ended=ended,
            passed_s=(self._clock.now_us() - self._round_began_us) // SECOND_US,
        )


def _quickest_ms(calls: Sequence[Ended]) -> int | None:
    return min((call.took_ms for call in calls if call.took_ms is not None), default=None)


def lanes_of(configuration: Configuration, public_name: str) -> int:
    """How many calls of that model may run at once by the profile, its keys and the whole relay; 0 = none."""
    model, scheduler = configuration.models_by_name[public_name], configuration.scheduler
    if scheduler is None:
        return 0
    provider = scheduler.providers[model.provider]
    if provider.rules is None or model.key not in provider.models:
        return 0
    bounds = [provider.rules.lanes, provider.models[model.key].rules.lanes_per_model, scheduler.relay.max_running]
    keys = [one.lanes for one in provider.credentials if not one.paused and one.model in (None, model.key)]
    if keys and None not in keys:  # a key without a bound of its own bounds nothing
        bounds.append(sum(lanes for lanes in keys if lanes is not None))
    return min(bound for bound in bounds if bound is not None)
