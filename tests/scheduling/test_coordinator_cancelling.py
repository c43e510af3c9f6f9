"""Callers leave: in line, at the very grant, while running. Nothing stays behind."""

from __future__ import annotations

import asyncio
import random

import pytest

from scheduling.core.spec import Class, RelaySpec
from scheduling.core.tickets import Charge
from scheduling.errors import (
    GaveUpWaiting,
)
from tests.scheduling.coordinating import ONE_LANE, ask, call, coordinating, is_empty
from tests.scheduling.relays import S, provider, relay, rpm, rules, tpm


async def test_cancelled_in_line_the_ticket_goes_without_a_trace() -> None:
    spec = relay(provider(of=rules(lanes=1, windows=(tpm(1000),))))
    async with coordinating(spec) as (coordinator, clock):
        await coordinator.acquire(ask("holder"))
        waiting = asyncio.create_task(coordinator.acquire(ask("t1", charge=Charge(100, 100, cap_is_callers=True))))
        await clock.advance(1)
        used = coordinator.snapshot().providers[0].models[0].windows[0].used
        waiting.cancel()
        await clock.advance(0)
        picture = coordinator.snapshot()
        assert (picture.waiting, picture.running) == (0, 1)
        assert picture.providers[0].models[0].windows[0].used == used


async def test_a_grant_whose_waiter_has_just_been_cancelled_passes_on_at_once() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        holder = await coordinator.acquire(ask("holder"))
        gone = asyncio.create_task(coordinator.acquire(ask("gone")))
        following = asyncio.create_task(coordinator.acquire(ask("following")))
        await clock.advance(1)
        holder.release()  # granted to `gone`, which has not run yet …
        gone.cancel()  # … and never will
        await clock.advance(0)
        assert gone.cancelled()
        assert (await following).ticket_id == "following"
        assert coordinator.snapshot().running == 1


async def test_a_call_cancelled_while_running_gives_its_place_back_once() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        running = asyncio.create_task(call(coordinator, clock, ask("t1"), 100))
        following = asyncio.create_task(coordinator.acquire(ask("t2")))
        await clock.advance(1)
        running.cancel()
        running.cancel()
        await clock.advance(0)
        lease = await following
        assert coordinator.snapshot().running == 1
        lease.release()
        lease.release()
        assert is_empty(coordinator)


@pytest.mark.parametrize("seed", range(12))
async def test_cancelling_at_any_moment_leaks_nothing(seed: int) -> None:
    """Calls come, end and are cancelled after any number of loop steps; in the end all places are free."""
    rng = random.Random(seed)
    spec = relay(provider(of=rules(lanes=2, windows=(rpm(600, window_us=S),)), models="ab"), limits=RelaySpec())
    async with coordinating(spec) as (coordinator, clock):
        calls: list[asyncio.Task[str]] = []
        for number in range(80):
            one = ask(f"t{number}", f"p/{rng.choice('ab')}", klass=rng.choice(list(Class)))
            calls.append(asyncio.create_task(call(coordinator, clock, one, rng.random())))
            for _ in range(rng.randrange(6)):
                await asyncio.sleep(0)
            if rng.random() < 0.6:
                rng.choice(calls).cancel()
            if rng.random() < 0.4:
                await clock.advance(rng.random() / 2)
        await clock.advance(100)
        assert all(one.done() for one in calls)
        assert is_empty(coordinator)


async def test_waiting_100_with_a_second_are_none_after_two() -> None:
    spec = relay(provider(of=rules(lanes=1, wait_timeout_us=S, max_waiting=200)))
    async with coordinating(spec) as (coordinator, clock):
        await coordinator.acquire(ask("holder"))
        waiting = [asyncio.create_task(coordinator.acquire(ask(f"t{number}"))) for number in range(100)]
        await clock.advance(0.5)
        assert coordinator.snapshot().waiting == 100
        await clock.advance(1.5)
        assert coordinator.snapshot().waiting == 0
        assert all(isinstance(one.exception(), GaveUpWaiting) for one in waiting)


async def test_a_grant_nobody_waits_for_is_given_back_at_once() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        await coordinator._backend.line_up(ask("orphan"))
        await clock.advance(0)
        assert is_empty(coordinator)
