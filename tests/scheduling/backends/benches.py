"""Coordinators on any backend, and a clock that stands still until told to go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scheduling.backends.memory import MemoryBackend
from scheduling.backends.valkey.backend import ValkeyBackend
from scheduling.backends.valkey.epoch import EpochKeeper, ForgetfulKeeper
from scheduling.clock import SECOND_US, FakeClock
from scheduling.coordinator import Coordinator
from scheduling.core.spec import SchedulerSpec
from scheduling.core.tickets import Ask
from scheduling.errors import Rejection
from scheduling.leases import Lease
from tests.scheduling.backends.stores import Store


class SettlingClock(FakeClock):
    """Goes on only when every store has answered."""

    def __init__(self) -> None:
        super().__init__()
        self.backends: list[ValkeyBackend] = []

    async def advance(self, seconds: float) -> None:
        end_us = self.now_us() + round(seconds * SECOND_US)
        await self.settle()
        while (due_us := self._next_us()) is not None and due_us <= end_us:
            await super().advance((due_us - self.now_us()) / SECOND_US)
            await self.settle()
        await super().advance((end_us - self.now_us()) / SECOND_US)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(2):  # an answer may make another one ask
            await super().advance(0)
            for backend in self.backends:
                await backend.quiet()
        await super().advance(0)

    def _next_us(self) -> int | None:
        return max(self._timers[0][0], self.now_us()) if self._timers else None


class Bench:
    """One or more relay processes in one, on the same state."""

    def __init__(self, store: Store | None) -> None:
        self.clock = SettlingClock()
        self.keeper: EpochKeeper = ForgetfulKeeper()
        self.store = store
        self.coordinators: list[Coordinator] = []

    async def open(self, spec: SchedulerSpec) -> Coordinator:
        """Another process."""
        coordinator = Coordinator(self._backend(), self.clock)
        self.coordinators.append(coordinator)
        await coordinator.start()
        coordinator.configure(spec)
        await self.clock.settle()
        return coordinator

    def _backend(self) -> Any:
        if self.store is None:
            assert not self.coordinators, "the state in a process is of that process"
            return MemoryBackend(self.clock, lease_us=10 * SECOND_US, offers=True)
        store = self.store
        backend = ValkeyBackend(store.url, self.clock, self.keeper, namespace=store.namespace, told_clock=True)
        self.clock.backends.append(backend)
        return backend

    async def close(self) -> None:
        for coordinator in self.coordinators:
            await coordinator.close()

    def call(self, coordinator: Coordinator, one: Ask) -> asyncio.Task[Lease]:
        return asyncio.create_task(coordinator.acquire(one))


@asynccontextmanager
async def benched(store: Store | None) -> AsyncIterator[Bench]:
    bench = Bench(store)
    try:
        yield bench
    finally:
        await bench.close()


def ask(ticket_id: str, model: str = "p/m", **changes: Any) -> Ask:
    return Ask(**{"ticket_id": ticket_id, "provider": model.split("/")[0], "model": model, "flow": "user:a"} | changes)


async def code_of(call: asyncio.Task[Lease]) -> str:
    """`granted`, or the code of the refusal."""
    try:
        await call
    except Rejection as rejection:
        return rejection.code
    return "granted"


def granted(calls: list[asyncio.Task[Lease]]) -> list[Lease]:
    return [call.result() for call in calls if call.done() and call.exception() is None]
