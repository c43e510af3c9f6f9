"""Small relays to try things on: specs in one line, and a core driven by a clock that is a number."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from scheduling.core.charge import Ending
from scheduling.core.moment import SECOND_US, Moment
from scheduling.core.outcomes import Event, Granted, Left, Lost, Reply
from scheduling.core.spec import (
    Class,
    CredentialSpec,
    FlowSpec,
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
    WindowSpec,
)
from scheduling.core.tickets import Actual, Ask, Charge
from scheduling.core.verbs import Core

S = SECOND_US
START_US = 1_000 * S
WALL_US = 1_790_000_000 * S
WIDE = RelaySpec(max_running=10_000, max_inside=100_000)


def rules(**changes: Any) -> LaneRules:
    usual: dict[str, Any] = {
        "lanes": 3,
        "lanes_per_model": None,
        "max_waiting": 8,
        "wait_timeout_us": 60 * S,
        "run_timeout_us": 300 * S,
        "guard_us": 0,
    }
    return LaneRules(**{**usual, **changes})


def rpm(limit: int, **changes: Any) -> WindowSpec:
    return WindowSpec(Measure.REQUESTS, limit, **changes)


def tpm(limit: int, **changes: Any) -> WindowSpec:
    return WindowSpec(Measure.TOTAL_TOKENS, limit, **changes)


def provider(
    key: str = "p",
    of: LaneRules | None = None,
    *,
    models: Iterable[str] = ("m",),
    credentials: tuple[CredentialSpec, ...] = (),
    **changes: Any,
) -> ProviderSpec:
    lane_rules = of or rules()
    specs = {f"{key}/{name}": ModelSpec(f"{key}/{name}", f"{key}/{name}", lane_rules) for name in models}
    return ProviderSpec(key, lane_rules, specs, credentials, **changes)


def relay(
    *providers: ProviderSpec, limits: RelaySpec = WIDE, flows: Iterable[FlowSpec] = (), version: int = 1
) -> SchedulerSpec:
    return SchedulerSpec(version, limits, {one.key: one for one in providers}, {one.key: one for one in flows})


def with_model(spec: ProviderSpec, name: str, **changes: Any) -> ProviderSpec:
    """The provider with one model changed (`rules`, `limit_group`, `paused` …)."""
    key = f"{spec.key}/{name}"
    return replace(spec, models={**spec.models, key: replace(spec.models[key], **changes)})


class Bench:
    """A core, and a clock that moves when told to. Events are kept in order."""

    def __init__(self, spec: SchedulerSpec, **core_options: Any) -> None:
        self.now_us = START_US
        self.core = Core(spec, self.now, **core_options)
        self.events: list[tuple[int, Event]] = []
        self.due_us: int | None = None
        self._ids = itertools.count()

    @property
    def now(self) -> Moment:
        return Moment(self.now_us, WALL_US + self.now_us - START_US)

    def ask(self, model: str = "p/m", flow: str = "user:a", klass: Class = Class.NORMAL, **changes: Any) -> str:
        """Line up; returns the ticket's id."""
        ticket_id = changes.pop("ticket_id", None) or f"t{next(self._ids)}"
        ask = Ask(ticket_id=ticket_id, provider=model.split("/")[0], model=model, flow=flow, klass=klass, **changes)
        self.note(self.core.line_up(ask, self.now))
        return ticket_id

    def tokens(self, prompt: int, cap: int = 0, **changes: Any) -> str:
        return self.ask(charge=Charge(prompt, cap, cap_is_callers=bool(cap)), **changes)

    def end(self, ticket_id: str, ending: Ending = Ending.SERVED, **actual: int) -> None:
        self.note(self.core.release(ticket_id, ending, Actual(**actual), self.now))

    def settle(self, ticket_id: str, ending: Ending = Ending.SERVED, **actual: int) -> None:
        self.note(self.core.settle(ticket_id, ending, Actual(**actual), self.now))

    def cancel(self, ticket_id: str) -> None:
        self.note(self.core.cancel(ticket_id, self.now))

    def configure(self, spec: SchedulerSpec) -> None:
        self.note(self.core.configure(spec, self.now))

    def note(self, reply: Reply) -> Reply:
        self.events += [(self.now_us, event) for event in reply.events]
        self.due_us = reply.next_due_us
        return reply

    def pass_time(self, seconds: float) -> None:
        """Move on, pumping whenever something is due."""
        end_us = self.now_us + round(seconds * S)
        while self.due_us is not None and self.due_us <= end_us:
            self.now_us = max(self.now_us, self.due_us)
            before = self.due_us
            self.note(self.core.pump(self.now))
            assert self.due_us is None or self.due_us > before, "a pump leaves nothing due behind"
        self.now_us = end_us

    @property
    def started(self) -> list[str]:
        """Ids in the order of their starts."""
        return [event.ticket_id for _, event in self.events if isinstance(event, Granted)]

    @property
    def start_times(self) -> dict[str, float]:
        """Seconds after the beginning."""
        return {event.ticket_id: (at_us - START_US) / S for at_us, event in self.events if isinstance(event, Granted)}

    @property
    def running(self) -> set[str]:
        return set(self.core.state.leases)

    @property
    def waiting(self) -> set[str]:
        return set(self.core.state.tickets)

    def grant(self, ticket_id: str) -> Granted:
        return next(e for _, e in self.events if isinstance(e, Granted) and e.ticket_id == ticket_id)

    def left(self, ticket_id: str) -> Left:
        return next(e for _, e in self.events if isinstance(e, Left) and e.ticket_id == ticket_id)

    def has_left(self, ticket_id: str) -> bool:
        return any(isinstance(e, Left) and e.ticket_id == ticket_id for _, e in self.events)

    @property
    def lost(self) -> list[str]:
        return [e.ticket_id for _, e in self.events if isinstance(e, Lost)]
