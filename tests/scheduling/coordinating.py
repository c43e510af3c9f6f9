"""A coordinator on the memory backend and a clock that stands still, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from scheduling.backends.memory import MemoryBackend
from scheduling.clock import FakeClock
from scheduling.coordinator import Coordinator
from scheduling.core.spec import RelaySpec, SchedulerSpec
from scheduling.core.tickets import Actual, Ask
from scheduling.errors import (
    Rejection,
)
from tests.scheduling.relays import provider, relay, rules

ONE_LANE = relay(provider(of=rules(lanes=1)), limits=RelaySpec())


def ask(ticket_id: str, model: str = "p/m", **changes) -> Ask:
    return Ask(**{"ticket_id": ticket_id, "provider": model.split("/")[0], "model": model, "flow": "user:a"} | changes)


@asynccontextmanager
async def coordinating(spec: SchedulerSpec, **options) -> AsyncIterator[tuple[Coordinator, FakeClock]]:
    clock = FakeClock()
    coordinator = Coordinator(MemoryBackend(clock, **options), clock)
    await coordinator.start()
    coordinator.configure(spec)
    yield coordinator, clock
    await coordinator.close()


async def call(coordinator: Coordinator, clock: FakeClock, one: Ask, seconds: float) -> str:
    try:
        async with coordinator.admit(one) as lease:
            await clock.sleep(seconds)
            lease.settle(Actual(prompt_tokens=1, completion_tokens=1))
            return "done"
    except Rejection as rejection:
        return rejection.code


def is_empty(coordinator: Coordinator) -> bool:
    picture = coordinator.snapshot()
    lanes = [one.running for provider in picture.providers for one in (provider, *provider.models)]
    return not (picture.running or picture.waiting or picture.inside or any(lanes))
