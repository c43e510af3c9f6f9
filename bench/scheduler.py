"""What one verb of the scheduler costs while a thousand wait: no server, no socket, the decision alone."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from itertools import count
from statistics import median

from scheduling.backends.base import Backend
from scheduling.backends.memory import MemoryBackend
from scheduling.clock import FakeClock
from scheduling.core.charge import Ending
from scheduling.core.outcomes import Granted, Reply
from scheduling.core.spec import LaneRules, ModelSpec, ProviderSpec, RelaySpec, SchedulerSpec
from scheduling.core.tickets import Actual, Ask

WAITING = 1_000
LANES = 10
MODELS = 20
FLOWS = 100
TIMES = 2_000
_HOUR_US = 3_600_000_000


def verb_costs_us(waiting: int = WAITING) -> dict[str, float]:
    """Verb → median µs, in this process's memory. A release starts the next in line."""
    return asyncio.run(_verb_costs_us(waiting))


async def _verb_costs_us(waiting: int) -> dict[str, float]:
    clock = FakeClock()
    backend = MemoryBackend(clock)
    crowd = Crowd(backend)
    await backend.open(crowd.hear)
    backend.configure(_spec(waiting))
    for _ in range(LANES + waiting):
        await crowd.line_up()
    costs: dict[str, list[int]] = {"release and start": [], "line up": [], "cancel": []}
    gc.disable()
    for _ in range(TIMES):
        await clock.advance(0.0001)
        costs["release and start"].append(_took_ns(crowd.release_first))
        began_ns = time.perf_counter_ns()
        await crowd.line_up()
        costs["line up"].append(time.perf_counter_ns() - began_ns)
        costs["cancel"].append(_took_ns(crowd.cancel_latest))
        await crowd.line_up()
    gc.enable()
    return {verb: median(times_ns) / 1000 for verb, times_ns in costs.items()}


class Crowd:
    """All lanes taken, and a line of a hundred users over twenty models."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._numbers = count()
        self._latest = ""
        self._running: list[str] = []  # in the order they started

    def hear(self, reply: Reply) -> None:
        self._running += [event.ticket_id for event in reply.events if isinstance(event, Granted)]

    async def line_up(self) -> None:
        number = next(self._numbers)
        self._latest = f"t{number}"
        model, flow = f"p/m{number % MODELS}", f"user:{number % FLOWS}"
        await self._backend.line_up(Ask(ticket_id=self._latest, provider="p", model=model, flow=flow))

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
