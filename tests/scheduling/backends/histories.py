"""Random histories: a relay of everything there is, and what happens to it. Seeded, so each can be played again.

A history is played on the core first; what it was asked and what it answered is then put before another backend.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Granted, Reply
from scheduling.core.spec import (
    ChargeRule,
    Class,
    CredentialSpec,
    FairBy,
    FlowSpec,
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
    Scope,
    WindowKind,
    WindowMode,
    WindowSpec,
)
from scheduling.core.tickets import Actual, Ask, Charge, Closure, Selection, TargetRef
from scheduling.core.verbs import Core
from tests.scheduling.relays import START_US, WALL_US, S

LEASE_US = 10 * S
NOTHING_CONFIGURED = SchedulerSpec(version=0, relay=RelaySpec(), providers={})
FLOWS = ("user:1", "user:2", "user:3", "user:4", "team:1")
LIMITS = ("token:1", "token:2", "team:1")
ZONES = ("America/Los_Angeles", "UTC", "Asia/Kolkata")


@dataclass(frozen=True, slots=True)
class Step:
    """One verb: its name, its arguments without the time, the time, and the core's answer."""

    verb: str
    arguments: tuple[Any, ...]
    now: Moment
    answer: Reply


class RelayMaker:
    """Makes configurations of every shape, one version after the other."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._version = 0

    def spec(self) -> SchedulerSpec:
        self._version += 1
        rng = self._rng
        keys = [key for key in ("p", "q", "r") if rng.random() < 0.9] or ["p"]
        return SchedulerSpec(
            self._version,
            RelaySpec(rng.choice((2, 4, 8)), rng.choice((6, 12, 40))),
            {key: self._provider(key) for key in keys},
            {flow.key: flow for flow in self._flows()},
        )

    def _provider(self, key: str) -> ProviderSpec:
        rng = self._rng
        rules = self._rules()
        models = {f"{key}/{name}": self._model(f"{key}/{name}", key, rules) for name in "abc" if rng.random() < 0.85}
        return ProviderSpec(
            key,
            None if rng.random() < 0.02 else rules,
            models,
            self._credentials(key) if rng.random() < 0.5 else (),
            paused=rng.random() < 0.02,
            pause_message=rng.choice(("", "back at noon")),
            pause_sends_away=rng.random() < 0.02,
        )

    def _model(self, key: str, provider: str, rules: LaneRules) -> ModelSpec:
        rng = self._rng
        own = replace(rules, lanes_per_model=rng.choice((None, 1, 2))) if rng.random() < 0.5 else self._rules()
        return ModelSpec(
            key,
            f"{provider}/group" if rng.random() < 0.4 else key,
            own,
            paused=rng.random() < 0.02,
            pause_message=rng.choice(("", "by hand")),
            pause_sends_away=rng.random() < 0.02,
        )

    def _credentials(self, key: str) -> tuple[CredentialSpec, ...]:
        rng = self._rng
        return tuple(
            CredentialSpec(
                name,
                rng.choice(("g1", "g2", "")),
                rng.choice((None, 1, 2)),
                f"{key}/a" if rng.random() < 0.15 else None,
                paused=rng.random() < 0.08,
            )
            for name in ("k1", "k2", "k3")
            if rng.random() < 0.8
        )

    def _rules(self) -> LaneRules:
        rng = self._rng
        return LaneRules(
            lanes=rng.choice((1, 2, 3, 5)),
            lanes_per_model=rng.choice((None, 1, 2)),
            max_waiting=rng.choice((1, 3, 6, 20)),
            wait_timeout_us=rng.choice((3, 15, 60)) * S,
            run_timeout_us=60 * S,
            windows=tuple(self._window() for _ in range(rng.choice((0, 1, 2, 3)))),
            burst=rng.choice((1, 1, 2, 5)),
            guard_us=rng.choice((0, 50_000)),
            charge_rule=rng.choice(list(ChargeRule)),
            fair_by=rng.choice((FairBy.USER, FairBy.USER, FairBy.NONE)),
        )

    def _window(self) -> WindowSpec:
        rng = self._rng
        measure = rng.choice(list(Measure))
        limit = rng.choice((3, 6, 12, 40)) if measure is Measure.REQUESTS else rng.choice((40, 100, 400))
        scope, mode = rng.choice(list(Scope)), WindowMode.ESTIMATE if rng.random() < 0.1 else WindowMode.ENFORCED
        shape = rng.random()
        if shape < 0.12:
            period, zone = rng.choice(("day", "week", "month")), rng.choice(ZONES)
            return WindowSpec(measure, limit, WindowKind.CALENDAR, 0, period, zone, scope=scope, mode=mode)
        if shape < 0.2:
            return WindowSpec(measure, limit, window_us=rng.choice((3600, 86_400)) * S, scope=scope, mode=mode)
        kind = rng.choice((WindowKind.SLIDING, WindowKind.FIXED))
        slice_us = S if measure is Measure.REQUESTS and rng.random() < 0.3 else 0
        window_us = rng.choice((4, 10, 60)) * S
        return WindowSpec(measure, limit, kind, window_us, scope=scope, mode=mode, slice_us=slice_us)

    def _flows(self) -> Iterator[FlowSpec]:
        rng = self._rng
        for key in dict.fromkeys((*FLOWS, *LIMITS)):
            if rng.random() < 0.6:
                yield FlowSpec(
                    key,
                    rng.choice((1, 1, 2, 5)),
                    rng.choice((None, None, 1, 2)),
                    rng.choice((None, None, None, 4, 12)),
                    rng.choice((None, None, None, 90, 400)),
                )


class History:
    """Plays on a core, and writes down every step."""

    def __init__(self, seed: int, length: int) -> None:
        self._rng = random.Random(seed)
        self._haste = self._rng.choice((6, 12, 24))
        self._maker = RelayMaker(self._rng)
        self._now_us, self._wall_us = START_US, WALL_US + self._rng.randrange(86_400) * S
        self.core = Core(NOTHING_CONFIGURED, self.now, lease_us=LEASE_US, offers=True)
        self._ids = 0
        self._due_us: int | None = None
        self._arrivals: list[int] = []
        self.steps: list[Step] = []
        self._configure()
        while len(self.steps) < length:
            self._step()

    @property
    def now(self) -> Moment:
        return Moment(self._now_us, self._wall_us + self._now_us - START_US)

    def _do(self, verb: str, *arguments: Any) -> None:
        answer: Reply = getattr(self.core, verb)(*arguments, self.now)
        self.steps.append(Step(verb, arguments, self.now, answer))
        self._due_us = answer.next_due_us
        granted = [event.ticket_id for event in answer.events if isinstance(event, Granted)]
        if granted and self._rng.random() < 0.8:
            self._do("acknowledge", granted)

    def _step(self) -> None:
        rng = self._rng
        names = ("_ask", "_pass", "_end", "_end", "_acknowledge", "_renew", "_settle", "_cancel", "_close", "_expel",
                 "_configure", "_again")  # fmt: skip
        weights = (36, self._haste, 12, 6, 4, 4, 4, 4, 3, 0.7, 1.2, 1)
        getattr(self, rng.choices(names, weights)[0])()

    def _ask(self) -> None:
        rng = self._rng
        known = list(self.core.state.models) if rng.random() < 0.95 else ["p/a", "r/c", "x/y"]
        model = rng.choice(known or ["p/a"])
        self._ids += 1
        cap = rng.choice((0, 0, 20, 60))
        ask = Ask(
            ticket_id=f"t{self._ids}",
            provider=model.split("/")[0],
            model=model,
            klass=rng.choices(list(Class), (3, 4, 3))[0],
            flow=rng.choice(FLOWS),
            limits=tuple(rng.sample(LIMITS, rng.choice((0, 0, 1, 2)))),
            owner="owner",
            purpose="probe" if rng.random() < 0.04 else "call",
            charge=Charge(rng.randint(0, 50), cap, cap_is_callers=rng.random() < 0.4),
            max_wait_us=rng.choice((None, None, None, 0, 2 * S, 20 * S)),
            holder=rng.choice(("h1", "h2")),
            conversation=rng.choice(("", "", "c1", "c2")),
        )
        self._do("line_up", self._as_one_who_returns(ask) if rng.random() < 0.06 else ask)

    def _as_one_who_returns(self, ask: Ask) -> Ask:
        if not self._arrivals:
            return ask
        arrived_us = self._now_us - self._rng.randint(0, 5 * S)
        return replace(ask, arrival=self._arrivals.pop(), arrived_us=arrived_us, re_enters=self._rng.random() < 0.7)

    def _again(self) -> None:
        """A verb that comes twice."""
        step = self._rng.choice(self.steps)
        if step.verb in ("cancel", "settle", "release", "acknowledge") or self._is_inside(step):
            self._do(step.verb, *step.arguments)

    def _is_inside(self, step: Step) -> bool:
        state = self.core.state
        return step.verb == "line_up" and step.arguments[0].ticket_id in {**state.tickets, **state.leases}

    def _pass(self) -> None:
        rng = self._rng
        if self._due_us is not None and rng.random() < 0.7:
            self._now_us = max(self._now_us, self._due_us)
            self._do("pump")
            return
        most_us = rng.choice((1, 300_000, 3 * S, 3 * S, 15 * S) + ((7200 * S,) if rng.random() < 0.05 else ()))
        self._now_us += rng.randint(0, most_us)
        if rng.random() < 0.3:
            self._do("pump")

    def _running(self) -> str | None:
        leases = list(self.core.state.leases)
        return self._rng.choice(leases) if leases else None

    def _waiting(self) -> str | None:
        tickets = list(self.core.state.tickets)
        return self._rng.choice(tickets) if tickets else None

    def _actual(self) -> tuple[Ending, Actual]:
        rng = self._rng
        figures = [rng.choice((None, rng.randint(0, 60))) for _ in range(3)]
        return rng.choices(list(Ending), (6, 1, 2, 1))[0], Actual(*figures)

    def _end(self) -> None:
        ticket_id = self._running()
        if ticket_id is not None:
            self._arrivals.append(self.core.state.leases[ticket_id].ticket.number)
            self._do("release", ticket_id, *self._actual())

    def _settle(self) -> None:
        ticket_id = self._running()
        if ticket_id is not None:
            self._do("settle", ticket_id, *self._actual())

    def _cancel(self) -> None:
        ticket_id = self._waiting() if self._rng.random() < 0.7 else self._running()
        if ticket_id is not None:
            self._do("cancel", ticket_id)

    def _acknowledge(self) -> None:
        offered = [key for key, lease in self.core.state.leases.items() if lease.offered]
        self._do("acknowledge", [one for one in offered if self._rng.random() < 0.9])

    def _renew(self) -> None:
        holder = self._rng.choice(("h1", "h2"))
        held = [key for key, lease in self.core.state.leases.items() if lease.ask.holder == holder]
        self._do("renew", holder, [one for one in held if self._rng.random() < 0.9])

    def _close(self) -> None:
        target = self._target()
        if self._rng.random() < 0.35:
            self._do("reopen", target)
            return
        until_us = self.now.wall_us + self._rng.choice((-S, 2 * S, 5 * S, 30 * S, 300 * S))
        self._do("close", Closure(target, until_us, "because", self._rng.random() < 0.5))

    def _target(self) -> TargetRef:
        rng = self._rng
        provider, scope = rng.choice("ppqr"), rng.choice(list(Scope))
        keys = {Scope.PROVIDER: ("",), Scope.MODEL: ("p/a", "p/b", "q/a"), Scope.CREDENTIAL: ("k1", "k2", "g1")}
        return TargetRef(provider, scope, rng.choice(keys[scope]))

    def _expel(self) -> None:
        if self._rng.random() < 0.5:
            self._do("expel", Selection(key=self._rng.choice(FLOWS + LIMITS)), Code.TICKET_CANCELLED)
            return
        named = frozenset(one for one in (self._waiting(), self._running()) if one is not None)
        self._do("expel", Selection(ticket_ids=named), Code.TICKET_CANCELLED)

    def _configure(self) -> None:
        self._do("configure", self._maker.spec())
