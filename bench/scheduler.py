"""What one verb of the scheduler costs while many wait: no server, no upstream, the decision alone."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median

from relay_project.server.valkey import running_valkey
from scheduling.backends.base import Backend
from scheduling.backends.memory import MemoryBackend
from scheduling.backends.valkey.backend import ValkeyBackend
from scheduling.backends.valkey.epoch import ForgetfulKeeper
from scheduling.clock import FakeClock, SystemClock
from scheduling.core.charge import Ending
from scheduling.core.outcomes import Granted, Reply
from scheduling.core.spec import LaneRules, ModelSpec, ProviderSpec, RelaySpec, SchedulerSpec
from scheduling.core.tickets import Actual, Ask

WAITING = 1_000
WAITING_IN_STORE = (10, 10_000)
LANES = 10
MODELS = 20
FLOWS = 100
BATCH = 200
TIMES = 2_000
TIMES_IN_STORE = 200
PAUSE_S = 0.002  # for what was sent without waiting for an answer
_HOUR_US = 3_600_000_000


def verb_costs_us(waiting: int = WAITING) -> dict[str, float]:
    """Verb → median µs, in this process's memory. A release starts the next in line."""
    return asyncio.run(_verb_costs_us(waiting))


async def _verb_costs_us(waiting: int) -> dict[str, float]:
    clock = FakeClock()
    crowd = Crowd(MemoryBackend(clock))
    await crowd.gather(waiting)
    costs: dict[str, list[int]] = {"release and start": [], "line up": [], "cancel": []}
    gc.disable()
    for _ in range(TIMES):
        await clock.advance(0.0001)
        costs["release and start"].append(_took_ns(crowd.release_first))
        costs["line up"].append(await crowd.line_up())
        costs["cancel"].append(_took_ns(crowd.cancel_latest))
        await crowd.line_up()
    gc.enable()
    return {verb: median(times_ns) / 1000 for verb, times_ns in costs.items()}


def store_costs_us() -> dict[str, float]:
    """How many wait → median µs from asking for a place to the store's answer, over a unix socket.

    Nobody takes leave: the store goes with those who are in it."""
    with tempfile.TemporaryDirectory(prefix="relay-bench-") as folder, running_valkey(Path(folder) / "valkey") as url:
        return {f"{waiting:,} waiting": asyncio.run(_store_cost_us(url, waiting)) for waiting in WAITING_IN_STORE}


async def _store_cost_us(url: str, waiting: int) -> float:
    backend = ValkeyBackend(url, SystemClock(), ForgetfulKeeper(), namespace=f"bench-{waiting}")
    crowd = Crowd(backend)
    await crowd.gather(waiting)
    times_ns = []
    for _ in range(TIMES_IN_STORE):
        times_ns.append(await crowd.line_up())
        crowd.cancel_latest()
        await asyncio.sleep(PAUSE_S)
    return median(times_ns) / 1000


class Crowd:
    """All lanes taken, and a line of a hundred users over twenty models."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._numbers = count()
        self._latest = ""
        self._running: list[str] = []  # in the order they started

    async def gather(self, waiting: int) -> None:
        await self._backend.open(self._hear)
        self._backend.configure(_spec(waiting))
        for batch in range(0, LANES + waiting, BATCH):
            await asyncio.gather(*(self.line_up() for _ in range(min(BATCH, LANES + waiting - batch))))

    def _hear(self, reply: Reply) -> None:
        started = [event.ticket_id for event in reply.events if isinstance(event, Granted)]
        self._running += started
        if started and self._backend.offers:
            self._backend.acknowledge(started)

    async def line_up(self) -> int:
        """How long it took, ns."""
        number = next(self._numbers)
        self._latest = f"t{number}"
        ask = Ask(ticket_id=self._latest, provider="p", model=f"p/m{number % MODELS}", flow=f"user:{number % FLOWS}")
        began_ns = time.perf_counter_ns()
        await self._backend.line_up(ask)
        return time.perf_counter_ns() - began_ns

    def release_first(self) -> None:
        self._backend.release(self._running.pop(0), Ending.SERVED, Actual())

    def cancel_latest(self) -> None:
        self._backend.cancel(self._latest)


def _took_ns(verb: Callable[[], None]) -> int:
    began_ns = time.perf_counter_ns()
    verb()
    return time.perf_counter_ns() - began_ns


def _spec(waiting: int) -> SchedulerSpec:
    rules = LaneRules(
        lanes=LANES,
        lanes_per_model=None,
        max_waiting=2 * waiting,
        wait_timeout_us=_HOUR_US,
        run_timeout_us=_HOUR_US,
    )
    models = {key: ModelSpec(key, key, rules) for key in (f"p/m{number}" for number in range(MODELS))}
    relay = RelaySpec(max_running=LANES, max_inside=LANES + 2 * waiting)
    return SchedulerSpec(1, relay, {"p": ProviderSpec("p", rules, models)})
