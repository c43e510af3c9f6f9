"""What a verb costs the server, and that it does not grow with those who wait. Printed (`pytest -s`).

Measured is the processor time of the server's thread; on a busy machine the figures are higher all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from scheduling.backends.valkey.layout import Message
from scheduling.backends.valkey.library import library
from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.spec import Class, FlowSpec
from scheduling.core.tickets import Actual, Ask, Charge
from scheduling.core.verbs import Core
from tests.scheduling.backends.histories import LEASE_US, NOTHING_CONFIGURED, Step
from tests.scheduling.backends.stores import Store, message_of
from tests.scheduling.relays import START_US, WALL_US, S, provider, relay, rpm, rules, tpm

ROUNDS, EACH = 8, 40
VERBS = ("line_up", "release", "cancel", "pump")


class Crowd:
    """All lanes taken and `waiting` tickets in line, on a core and in the store; verbs are tried on both."""

    def __init__(self, store: Store, waiting: int, flows: int, models: int) -> None:
        self._store = store
        self._flows, self._models = flows, models
        self._now_us = START_US
        self._numbers = iter(range(1, 10**9))
        self._latest: list[str] = []
        self._core = Core(NOTHING_CONFIGURED, self._now, lease_us=3600 * S)
        lanes = rules(lanes=5, max_waiting=20_000, wait_timeout_us=36_000 * S, windows=(rpm(10**7), tpm(10**9)))
        own = [FlowSpec(f"user:{number}", concurrency=10**5, rpm=10**6, tpm=10**9) for number in range(flows)]
        spec = relay(provider(of=lanes, models=[f"m{number}" for number in range(models)]), flows=own)
        store.load(library(told_clock=True))
        self._send([("found", {"epoch": "e", "lease_us": 360 * LEASE_US, "offers": False})])
        self._send([self._do("configure", spec)])
        self._send([self._line_up() for _ in range(waiting + 5)])

    def median_us(self, verb: str) -> float:
        """The best of some rounds: what it costs when nothing else disturbs."""
        make: dict[str, Callable[[], tuple[str, Message]]] = {
            "line_up": self._line_up,
            "release": self._release,
            "cancel": lambda: self._do("cancel", self._latest.pop()),
            "pump": lambda: self._do("pump"),
        }
        costs = []
        for _ in range(ROUNDS):
            if verb == "release":
                self._send([self._line_up() for _ in range(EACH)])
            costs.append(self._send([make[verb]() for _ in range(EACH)]))
        return min(costs)

    @property
    def _now(self) -> Moment:
        return Moment(self._now_us, WALL_US + self._now_us - START_US)

    def _do(self, verb: str, *arguments: object) -> tuple[str, Message]:
        reply = getattr(self._core, verb)(*arguments, self._now)
        return verb, {**message_of(Step(verb, arguments, self._now, reply)), "now": list(self._now)}

    def _line_up(self) -> tuple[str, Message]:
        self._now_us += 10
        number = next(self._numbers)
        self._latest.append(f"t{number}")
        model, flow = f"p/m{number % self._models}", f"user:{number % self._flows}"
        charge = Charge(10, 10, cap_is_callers=True)
        ask = Ask(ticket_id=f"t{number}", provider="p", model=model, flow=flow, klass=Class.NORMAL, charge=charge)
        return self._do("line_up", ask)

    def _release(self) -> tuple[str, Message]:
        """It lets the next one start."""
        self._now_us += 1000
        return self._do("release", next(iter(self._core.state.leases)), Ending.SERVED, Actual(5, 0, 5))

    def _send(self, calls: list[tuple[str, Message]]) -> float:
        """Processor time of the server per call, in µs."""
        built, pipeline = library(told_clock=True), self._store.client.pipeline(transaction=False)
        for verb, message in calls:
            message.setdefault("now", list(self._now))
            pipeline.fcall(built.function(verb), 1, self._store.prefix, msgspec.msgpack.encode(message))
        before = self._processor_us()
        pipeline.execute()
        return (self._processor_us() - before) / len(calls)

    def _processor_us(self) -> float:
        server = self._store.client.info("server")["process_id"]
        return int(Path(f"/proc/{server}/task/{server}/schedstat").read_text().split()[0]) / 1000


@pytest.fixture
def crowds(store: Store) -> Iterator[Callable[[int, int, int], Crowd]]:
    made: list[Store] = []

    def make(waiting: int, flows: int, models: int) -> Crowd:
        own = Store(store.url, store.client, f"{store.namespace}-{len(made)}")
        made.append(own)
        return Crowd(own, waiting, flows, models)

    yield make
    for one in made:
        one.empty()


@pytest.mark.parametrize(("flows", "models"), [(1, 1), (10_000, 1), (10_000, 1_000)])
def test_a_verb_does_not_grow_with_those_who_wait(crowds: Callable[..., Crowd], flows: int, models: int) -> None:
    few, many = crowds(10, 10, 1), crowds(10_000, flows, models)
    growth = {}
    for verb in VERBS:
        of_few, of_many = few.median_us(verb), many.median_us(verb)
        growth[verb] = of_many / of_few
        print(f"\n{verb}: {of_few:.0f} us with 10 waiting, {of_many:.0f} us with 10,000 (x {growth[verb]:.2f})", end="")
    assert all(one <= 2 for one in growth.values()), growth
