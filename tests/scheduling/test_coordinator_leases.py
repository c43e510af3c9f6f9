"""Leases that expire, and the machine's own clock."""

from __future__ import annotations

import asyncio

from scheduling.backends.memory import MemoryBackend
from scheduling.clock import SystemClock
from scheduling.coordinator import Coordinator
from tests.scheduling.coordinating import ONE_LANE, ask, coordinating, is_empty
from tests.scheduling.relays import S, provider, relay, rpm, rules


async def test_held_leases_are_renewed_for_as_long_as_it_takes() -> None:
    async with coordinating(ONE_LANE, lease_us=10 * S, offers=True) as (coordinator, clock):
        lease = await coordinator.acquire(ask("t1"))
        await clock.advance(120)
        assert not lease.is_lost
        assert coordinator.snapshot().running == 1
        lease.release()
        await clock.advance(10)
        assert is_empty(coordinator)


async def test_a_lease_nobody_renews_is_lost_and_its_holder_is_told() -> None:
    async with coordinating(ONE_LANE, lease_us=10 * S) as (coordinator, clock):
        lease = await coordinator.acquire(ask("t1"))
        coordinator._backend.renew_every_us = None  # as if this process hung
        coordinator._renewal.set(None)
        lost: list[str] = []
        lease.on_lost(lambda: lost.append(lease.ticket_id))
        following = asyncio.create_task(coordinator.acquire(ask("t2")))
        await clock.advance(10)
        assert lost == ["t1"]
        assert (await following).ticket_id == "t2"
        lease.release()
        assert coordinator.snapshot().running == 1


async def test_on_the_machines_clock_a_paced_call_waits_its_time() -> None:
    clock = SystemClock()
    coordinator = Coordinator(MemoryBackend(clock), clock)
    await coordinator.start()
    coordinator.configure(relay(provider(of=rules(windows=(rpm(50, window_us=S),)))))
    (await coordinator.acquire(ask("t1"))).release()
    lease = await coordinator.acquire(ask("t2"))
    assert 15_000 <= lease.queue_us <= 2 * S
    assert lease.pace_us >= 15_000
    await coordinator.close()
