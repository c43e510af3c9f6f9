"""What a caller asks for, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.core.spec import Class, Scope


@dataclass(frozen=True, slots=True)
class Charge:
    """What one request is expected to cost. The provider's charge rule makes of it what each axis is charged."""

    prompt_tokens: int = 0  # estimate, cache reads included
    cap_tokens: int = 0  # the largest answer it may produce × n: the caller's cap, else the learned or default one
    cap_is_callers: bool = False  # False: never a reason for request_exceeds_limit


@dataclass(frozen=True, slots=True)
class Actual:
    """What it did cost, told at settle. None = not known (the estimate stays)."""

    prompt_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request for a place on the lanes. Ids are unique; every verb is idempotent by `ticket_id`."""

    ticket_id: str
    provider: str  # provider slug
    model: str  # model key "<provider>/<upstream name>"
    klass: Class = Class.INTERACTIVE
    flow: str  # unit of fairness: "user:7", "team:3"
    limits: tuple[str, ...] = ()  # keys of FlowSpecs whose own limits also bind (user, token, team)
    owner: str = ""  # who may see the ticket in full, e.g. "user:7"
    purpose: str = "call"  # call | check | test | chat | probe
    charge: Charge = Charge()
    max_wait_us: int | None = None  # the caller's own limit, below the profile's
    arrived_us: int | None = None  # kept when a ticket moves or re-enters; None = now
    arrival: int | None = None  # its number, kept when a ticket moves or re-enters (`Lease.arrival`); None = a new one
    re_enters: bool = False  # after a brief refusal: stands first in its class, passing pacer and ledgers again
    holder: str = ""  # the process that renews its lease
    conversation: str = ""  # prefers the credential it had last


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tickets are meant: by id, or all of a user, token or team."""

    ticket_ids: frozenset[str] = frozenset()
    key: str = ""  # a flow, or one of `Ask.limits`

    def names(self, ask: Ask) -> bool:
        return ask.ticket_id in self.ticket_ids or (bool(self.key) and self.key in (ask.flow, *ask.limits))


@dataclass(frozen=True, slots=True)
class TargetRef:
    """What can be closed: a provider; a model and those that share its limit group; a credential or a quota group."""

    provider: str  # provider slug
    scope: Scope
    key: str = ""  # model key, or credential id or quota group; not used for a provider


@dataclass(frozen=True, slots=True)
class Closure:
    """Close a target until a moment of the wall clock (epoch µs). Used up = drop it; else a brief "not before"."""

    target: TargetRef
    until_wall_us: int
    reason: str
    used_up: bool
