"""Those who watch: callers in line, and pages."""

from __future__ import annotations

import asyncio

from scheduling.coordinator import Waiting
from scheduling.core.tickets import Actual
from tests.scheduling.coordinating import ONE_LANE, ask, coordinating
from tests.scheduling.relays import S, provider, relay, rpm, rules


async def test_who_watches_is_told_at_once_and_then_on_change() -> None:
    async with coordinating(relay(provider(of=rules(lanes=2)), provider("q"))) as (coordinator, clock):
        teacher = await coordinator.acquire(ask("teacher"))
        await clock.advance(8)
        teacher.settle(Actual())
        teacher.release()
        holders = [await coordinator.acquire(ask(f"holder{number}")) for number in range(2)]
        ahead = asyncio.create_task(coordinator.acquire(ask("ahead")))
        await clock.advance(2)
        seen: list[Waiting] = []
        mine = asyncio.create_task(coordinator.acquire(ask("mine"), seen.append))
        await clock.advance(0)
        assert seen == [Waiting(2, 0, 6 * S, "provider", running=2, limit=2, waiting=2)]
        await clock.advance(1)
        (await coordinator.acquire(ask("elsewhere", "q/m"))).release()
        await clock.advance(0.3)
        assert len(seen) == 1  # for it only time has passed, which it counts down itself
        ahead.cancel()
        await clock.advance(0.3)
        assert (seen[-1].place, seen[-1].waiting, seen[-1].waited_us) == (1, 1, 1_300_000)
        holders[0].release()
        await clock.advance(0)
        assert mine.done()
        told = len(seen)
        await clock.advance(5)
        assert len(seen) == told


async def test_who_watches_is_told_four_times_a_second_at_most() -> None:
    spec = relay(provider(of=rules(lanes=1, max_waiting=100)))
    async with coordinating(spec) as (coordinator, clock):
        await coordinator.acquire(ask("holder"))
        seen: list[Waiting] = []
        mine = asyncio.create_task(coordinator.acquire(ask("mine"), seen.append))
        others = []
        for number in range(100):
            others.append(asyncio.create_task(coordinator.acquire(ask(f"t{number}"))))
            await clock.advance(0.01)
        assert 3 <= len(seen) <= 6
        for one in (mine, *others):
            one.cancel()


async def test_pages_are_told_of_every_change_until_they_have_enough() -> None:
    async with coordinating(ONE_LANE) as (coordinator, _):
        changes: list[int] = []
        stop = coordinator.subscribe(lambda: changes.append(coordinator.snapshot().version))
        lease = await coordinator.acquire(ask("t1"))
        lease.release()
        assert changes == sorted(set(changes))
        told = len(changes)
        assert told == 2  # the start, the release
        stop()
        (await coordinator.acquire(ask("t2"))).release()
        assert len(changes) == told


async def test_predicted_starts_are_told_for_those_asked_for() -> None:
    async with coordinating(relay(provider(of=rules(windows=(rpm(6),))))) as (coordinator, clock):
        await coordinator.acquire(ask("t1"))
        waiting = asyncio.create_task(coordinator.acquire(ask("t2")))
        await clock.advance(4)
        assert coordinator.predicted(["t2", "unknown"]) == {"t2": clock.now_us() + 6 * S}
        waiting.cancel()
