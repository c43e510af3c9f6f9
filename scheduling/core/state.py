"""What is, at this moment: who runs, who waits, what is charged. Plain objects, changed only by the verbs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from scheduling.core.axes import AxisKey, Lane, Posting, WindowAxis
from scheduling.core.limiters import Limiter, OwnStamps
from scheduling.core.lines import Line, Lines
from scheduling.core.moment import FAR_US
from scheduling.core.order import Key, Order
from scheduling.core.outcomes import PACED, Reason
from scheduling.core.sample import Sample
from scheduling.core.slots import ComeBackSlots
from scheduling.core.spec import (
    Class,
    CredentialSpec,
    FairBy,
    LaneRules,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
)
from scheduling.core.tickets import Ask

CLASSES: Final = (Class.INTERACTIVE, Class.NORMAL, Class.BATCH)


class Ticket:
    """Somebody in line."""

    __slots__ = ("arrived_us", "ask", "deadline_us", "kept_warm", "model", "number", "own_amounts",
                 "paced_before_us", "place_key")  # fmt: skip

    def __init__(self, ask: Ask, model: ModelState, number: int, arrived_us: int) -> None:
        self.ask = ask
        self.model = model
        self.number = number
        self.arrived_us = arrived_us
        self.deadline_us = FAR_US
        self.kept_warm = False  # it has already been kept for its conversation's credential
        self.paced_before_us = 0  # the model's paced time when it lined up
        self.own_amounts: dict[str, int] = {}  # limiter → own tokens, as decided at the door
        self.place_key: Key = (0 if ask.re_enters else 1, number)


class Lease:
    """Somebody running."""

    __slots__ = ("ask", "credential", "expires_us", "granted_us", "model", "number", "offered", "own", "postings",
                 "settled", "share", "ticket", "turns_before")  # fmt: skip

    def __init__(
        self, ticket: Ticket, number: int, model: ModelState, credential: CredentialState | None, granted_us: int
    ) -> None:
        self.ticket = ticket
        self.ask = ticket.ask
        self.model = model
        self.number = number
        self.credential = credential
        self.granted_us = granted_us
        self.expires_us = FAR_US
        self.offered = False  # not yet acknowledged
        self.settled = False
        self.turns_before = (0, 0)  # of its model and provider, before this start
        self.share = 0  # what its flow's tag grew by
        self.postings: list[Posting] = []
        self.own: list[tuple[Limiter, OwnStamps]] = []

    def lanes(self, state: State) -> tuple[Lane, ...]:
        """Every lane it holds a place on."""
        lanes = (state.lane, self.model.provider.lane, self.model.lane)
        return lanes if self.credential is None else (*lanes, self.credential.lane)


@dataclass(frozen=True, slots=True)
class Closing:
    """Not before `until_us`. Used up = a target to be dropped; else one more "not before" for those in line."""

    until_us: int
    reason: str
    used_up: bool


class CredentialState:
    __slots__ = ("closing", "lane", "spec")

    def __init__(self, spec: CredentialSpec) -> None:
        self.spec = spec
        self.lane = Lane(spec.lanes)
        self.closing: Closing | None = None


@dataclass(frozen=True, slots=True)
class CredentialRoad:
    """A credential as one model may use it: with the windows of its quota group."""

    credential: CredentialState
    windows: tuple[WindowAxis, ...]
    estimates: tuple[WindowAxis, ...]


@dataclass(slots=True)
class Blocked:
    """Why a model's head does not start though its lanes have room, and when time alone helps."""

    due_us: int
    reason: Reason


class Pool:
    """Models that share any window or credential: the unit that sleeps while its heads are blocked.

    While one head is blocked it pins the axes that block it; nothing behind it in the order takes from them. Whatever
    happens to any of the pool's axes or lines wakes the whole pool, so pins never outlive the order they rest on."""

    __slots__ = ("blocked", "number", "pinned")

    def __init__(self, number: int) -> None:
        self.number = number
        self.blocked: dict[ModelState, Blocked] = {}
        self.pinned: dict[WindowAxis, int] = {}  # axis → when its head may go


class Roll:
    """Who waits in a scope (a provider, the relay): what the door needs to choose who should rather go."""

    __slots__ = ("by_class", "by_flow", "count")

    def __init__(self) -> None:
        self.by_class: tuple[dict[int, Ticket], ...] = ({}, {}, {})
        self.by_flow: tuple[dict[str, int], ...] = ({}, {}, {})
        self.count = 0

    def add(self, ticket: Ticket) -> None:
        ask = ticket.ask
        self.by_class[ask.klass][ticket.number] = ticket
        flows = self.by_flow[ask.klass]
        flows[ask.flow] = flows.get(ask.flow, 0) + 1
        self.count += 1

    def remove(self, ticket: Ticket) -> None:
        ask = ticket.ask
        del self.by_class[ask.klass][ticket.number]
        flows = self.by_flow[ask.klass]
        if flows[ask.flow] == 1:
            del flows[ask.flow]
        else:
            flows[ask.flow] -= 1
        self.count -= 1


class ModelState:
    __slots__ = ("blocked_since_us", "closing", "estimates", "lane", "lines", "paced_us", "pool", "provider", "roads",
                 "rules", "run_times", "spec", "turn", "waiting", "windows")  # fmt: skip

    def __init__(self, spec: ModelSpec, provider: ProviderState, turn: int) -> None:
        self.spec = spec
        self.rules: LaneRules = spec.rules
        self.provider = provider
        self.lane = Lane(spec.rules.lanes_per_model)
        fair = spec.rules.fair_by is FairBy.USER
        self.lines = (Lines(fair=fair), Lines(fair=fair), Lines(fair=fair))
        self.waiting = 0
        self.turn = turn  # number of its last start
        self.pool = Pool(turn)
        self.windows: tuple[WindowAxis, ...] = ()  # enforced, shared whatever the credential
        self.estimates: tuple[WindowAxis, ...] = ()  # shown, never in the way
        self.roads: tuple[CredentialRoad, ...] | None = None  # None = the provider has no credentials
        self.closing: Closing | None = None
        self.run_times = Sample()
        self.paced_us = 0  # how long its heads have waited for pace, up to the last change
        self.blocked_since_us: int | None = None

    def paced_until(self, now_us: int) -> int:
        """Total time in which pace, not a lane, held this model up."""
        since_us = self.blocked_since_us
        return self.paced_us + (now_us - since_us if since_us is not None else 0)

    def note_paced(self, reason: Reason | None, now_us: int) -> None:
        if reason in PACED:
            if self.blocked_since_us is None:
                self.blocked_since_us = now_us
        elif self.blocked_since_us is not None:
            self.paced_us = self.paced_until(now_us)
            self.blocked_since_us = None


class ProviderState:
    __slots__ = ("axes", "closing", "credentials", "lane", "models", "ready", "roll", "rules", "slots",
                 "spec", "turn")  # fmt: skip

    def __init__(self, spec: ProviderSpec, turn: int) -> None:
        self.spec = spec
        self.rules = spec.rules
        self.lane = Lane(spec.rules.lanes if spec.rules else 0)
        self.models: dict[str, ModelState] = {}
        self.credentials: dict[str, CredentialState] = {}
        self.axes: dict[AxisKey, WindowAxis] = {}
        self.ready: tuple[Order[ModelState], ...] = (Order(), Order(), Order())
        self.roll = Roll()
        self.slots = ComeBackSlots()
        self.turn = turn
        self.closing: Closing | None = None


@dataclass(slots=True)
class State:
    spec: SchedulerSpec
    lane: Lane = field(default_factory=lambda: Lane(RelaySpec().max_running, batch_spare=2))
    providers: dict[str, ProviderState] = field(default_factory=dict)
    models: dict[str, ModelState] = field(default_factory=dict)
    limiters: dict[str, Limiter] = field(default_factory=dict)
    tickets: dict[str, Ticket] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    ready: tuple[Order[ProviderState], ...] = field(default_factory=lambda: (Order(), Order(), Order()))
    deadlines: Order[Ticket] = field(default_factory=Order)
    expiries: Order[Lease] = field(default_factory=Order)
    dues: Order[Pool] = field(default_factory=Order)
    roll: Roll = field(default_factory=Roll)
    slots: ComeBackSlots = field(default_factory=ComeBackSlots)
    resting: Order[str] = field(default_factory=Order)  # own limits that nobody uses, by when they may be dropped
    warming: Order[Line] = field(default_factory=Order)  # lines kept for their conversation's credential, until when
    conversations: dict[str, str] = field(default_factory=dict)  # conversation → credential id, oldest use first
    lease_us: int | None = None  # None = leases do not expire
    version: int = 0
    _number: int = 0

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def skip_numbers(self, other: State) -> None:
        """Number on from where another state is."""
        self._number = other._number

    @property
    def inside(self) -> int:
        return len(self.tickets) + len(self.leases)
