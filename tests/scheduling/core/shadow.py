"""A second, slow opinion: it watches a core's events and judges them from first principles.

It keeps its own books (who runs where, what was charged when) and, after every verb, walks all heads in the order of
SCHEDULING §3 to see that none waits that should not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scheduling.core.charge import Ending
from scheduling.core.lines import Line
from scheduling.core.outcomes import Granted
from scheduling.core.spec import Class, Measure, ModelSpec, Scope, WindowSpec
from scheduling.core.state import ModelState
from scheduling.core.tickets import Ask
from tests.scheduling.relays import Bench

AxisName = tuple[str, Measure, int]


@dataclass
class Books:
    limit: int
    length_us: int
    paced: bool
    charged: list[list[int]] = field(default_factory=list)  # [at_us, amount]

    def used(self, now_us: int) -> int:
        return sum(amount for at_us, amount in self.charged if now_us - self.length_us < at_us <= now_us)

    def has_room(self, amount: int, now_us: int) -> bool:
        interval_us = -(-self.length_us // self.limit)
        if self.paced and self.charged and now_us - self.charged[-1][0] < interval_us:
            return False
        return self.used(now_us) + amount <= self.limit


class Shadow:
    """Watches one `Bench`. Rule of all models: prompt and cap at arrival, corrected at settle."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.asks: dict[str, Ask] = {}
        self.running: dict[str, Granted] = {}
        self.entries: dict[str, list[tuple[Books, list[int]]]] = {}
        self.books: dict[AxisName, Books] = {}
        self._seen = 0

    def knows(self, ask: Ask) -> None:
        self.asks[ask.ticket_id] = ask

    def ends(self, ticket_id: str, ending: Ending, total: int | None) -> None:
        """Note an ending before the verb is called."""
        self.running.pop(ticket_id, None)
        for books, entry in self.entries.pop(ticket_id, []):
            if ending is Ending.UNSENT:
                books.charged = [one for one in books.charged if one is not entry]
            elif not books.paced and ending is Ending.REFUSED:
                entry[1] = 0
            elif not books.paced and total is not None:
                entry[1] = total

    def check(self) -> None:
        """Judge what has happened since the last check, and what has not."""
        for at_us, event in self.bench.events[self._seen :]:
            if isinstance(event, Granted):
                self._judge_start(event, at_us)
        self._seen = len(self.bench.events)
        self._judge_lanes()
        self._judge_heads()

    def _judge_start(self, grant: Granted, at_us: int) -> None:
        ask = self.asks[grant.ticket_id]
        entries = []
        for books, measure in self._axes(ask, grant.credential_id):
            amount = _amount(ask, measure)
            assert books.has_room(amount, at_us), f"{grant.ticket_id} started without room at {at_us}"
            entry = [at_us, amount]
            books.charged.append(entry)
            entries.append((books, entry))
        self.entries[grant.ticket_id] = entries
        self.running[grant.ticket_id] = grant

    def _axes(self, ask: Ask, credential_id: str | None) -> Iterator[tuple[Books, Measure]]:
        provider = self.bench.core.state.spec.providers[ask.provider]
        model = provider.models[ask.model]
        groups = {one.id: one.quota_group for one in provider.credentials}
        for window in model.rules.windows:
            yield self._books(window, model, groups.get(credential_id or "", "")), window.measure

    def _books(self, window: WindowSpec, model: ModelSpec, group: str) -> Books:
        provider = model.key.split("/")[0]
        of = {Scope.PROVIDER: provider, Scope.MODEL: model.limit_group, Scope.CREDENTIAL: f"{provider}#{group}"}
        name = (of[window.scope], window.measure, window.window_us)
        paced = window.measure is Measure.REQUESTS
        return self.books.setdefault(name, Books(window.limit, window.window_us, paced))

    def _judge_lanes(self) -> None:
        state = self.bench.core.state
        relay = state.spec.relay
        assert set(self.running) == set(state.leases)
        assert len(self.running) <= relay.max_running
        assert state.inside <= relay.max_inside
        for provider in state.spec.providers.values():
            assert provider.rules is not None
            assert self._count(provider=provider.key) <= provider.rules.lanes
            assert state.providers[provider.key].roll.count <= provider.rules.max_waiting
            for model in provider.models.values():
                limit = model.rules.lanes_per_model
                assert limit is None or self._count(model=model.key) <= limit

    def _judge_heads(self) -> None:
        """No head waits that is not pinned while all its axes have room."""
        pinned: set[int] = set()
        for line in self._heads():
            ask = line.head.ask
            if self._own_limit_is_full(ask) or not self._has_lanes(ask):
                continue
            roads = list(self._roads(ask))
            assert not any(road and not self._blocking(road, ask, pinned) for road in roads), f"{ask.ticket_id} waits"
            for road in roads:
                pinned |= {id(books) for books in self._blocking(road, ask, set())}

    def _blocking(self, road: list[tuple[Books, Measure]], ask: Ask, pinned: set[int]) -> list[Books]:
        now_us = self.bench.now_us
        return [
            books for books, measure in road if id(books) in pinned or not books.has_room(_amount(ask, measure), now_us)
        ]

    def _heads(self) -> Iterator[Line]:
        state = self.bench.core.state
        for klass in Class:
            for provider in sorted(state.providers.values(), key=lambda one: one.turn):
                for model in sorted(provider.models.values(), key=lambda one: (one.lane.running, one.turn)):
                    yield from self._lines(model, klass)

    def _lines(self, model: ModelState, klass: Class) -> list[Line]:
        lines = model.lines[klass]
        found = {ticket.ask.flow: lines.line_of(ticket.ask.flow) for ticket in self._waiting(model, klass)}
        return sorted(
            (line for line in found.values() if line),
            key=lambda line: (line.tag if lines.fair else 0, line.head.number),
        )

    def _waiting(self, model: ModelState, klass: Class) -> list:
        tickets = self.bench.core.state.tickets.values()
        return [one for one in tickets if one.model is model and one.ask.klass is klass]

    def _roads(self, ask: Ask) -> Iterator[list[tuple[Books, Measure]]]:
        """One list of axes per credential that has a free lane (or one for none at all)."""
        provider = self.bench.core.state.spec.providers[ask.provider]
        if not provider.credentials:
            yield list(self._axes(ask, None)) or [(Books(1, 1, paced=False), Measure.REQUESTS)]
        for credential in provider.credentials:
            running = self._of_class(credential_id=credential.id)
            if credential.lanes is None or _room(credential.lanes, 1, ask, running):
                yield list(self._axes(ask, credential.id))

    def _has_lanes(self, ask: Ask) -> bool:
        spec = self.bench.core.state.spec
        provider = spec.providers[ask.provider]
        assert provider.rules is not None
        per_model = provider.models[ask.model].rules.lanes_per_model
        return (
            _room(spec.relay.max_running, 2, ask, self._of_class())
            and _room(provider.rules.lanes, 1, ask, self._of_class(provider=ask.provider))
            and (per_model is None or _room(per_model, 1, ask, self._of_class(model=ask.model)))
        )

    def _own_limit_is_full(self, ask: Ask) -> bool:
        for key in (ask.flow, *ask.limits):
            spec = self.bench.core.state.spec.flows.get(key)
            running = sum(1 for one in self.running if key in (self.asks[one].flow, *self.asks[one].limits))
            if spec is not None and spec.concurrency is not None and running >= spec.concurrency:
                return True
        return False

    def _count(self, **where: str) -> int:
        return sum(1 for one in self.running.values() if all(getattr(one, name) == key for name, key in where.items()))

    def _of_class(self, **where: str) -> tuple[int, int]:
        running = [
            one for one in self.running.values() if all(getattr(one, name) == key for name, key in where.items())
        ]
        return len(running), sum(1 for one in running if self.asks[one.ticket_id].klass is Class.BATCH)


def _room(limit: int, spare: int, ask: Ask, running: tuple[int, int]) -> bool:
    every, batch = running
    return every < limit and (ask.klass is not Class.BATCH or batch < max(1, limit - spare))


def _amount(ask: Ask, measure: Measure) -> int:
    return 1 if measure is Measure.REQUESTS else max(1, ask.charge.prompt_tokens + ask.charge.cap_tokens)
