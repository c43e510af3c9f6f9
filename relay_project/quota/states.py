"""The live quota states of this process: what is used up, kept in step with the rows and the coordinator.

A used-up closing is a row (the truth that survives) and a closing in the coordinator (what the decision reads). Ways
out: the provider's reset passes; any success on the target; a probe that gets through; an admin's reset. Each ends at
the same place: the row is cleared, and every process that sees the cleared row opens the target.

Every step is synchronous; rows are written by tasks of the process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import structlog

from providers.contract import Refusal, RefusalKind
from relay_project.quota.breaker import Breaker
from relay_project.quota.consequences import Consequence, Effect, consequence_of
from relay_project.tasks import TaskOwner
from scheduling.core.spec import LaneRules, Scope
from scheduling.core.tickets import Closure, TargetRef

log = structlog.get_logger(__name__)

BEING_WRITTEN_US = 5_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attempt ran."""

    provider: str
    model: str  # key
    limit_group: str
    credential_id: str | None
    quota_group: str
    account_wide: bool  # the vendor counts its windows per account

    def ref(self, scope: Scope) -> TargetRef:
        if scope is Scope.MODEL:
            return TargetRef(self.provider, Scope.MODEL, self.limit_group)
        if scope is Scope.CREDENTIAL and self.credential_id is not None:
            return TargetRef(self.provider, Scope.CREDENTIAL, self.quota_group)
        return TargetRef(self.provider, Scope.PROVIDER)

    def refs(self) -> tuple[TargetRef, ...]:
        """All that a success here proves open."""
        own_key = TargetRef(self.provider, Scope.CREDENTIAL, self.credential_id or "")
        return (self.ref(Scope.MODEL), self.ref(Scope.CREDENTIAL), own_key, TargetRef(self.provider, Scope.PROVIDER))


@dataclass(frozen=True, slots=True)
class OpenState:
    """A used-up closing that is in force."""

    target: TargetRef
    until_wall_us: int
    reason: str  # a RefusalKind
    limit_name: str = ""
    evidence: str = ""
    since_wall_us: int = 0


class Gate(Protocol):
    """What the coordinator offers."""

    def close_target(self, closure: Closure) -> None: ...

    def reopen_target(self, target: TargetRef) -> None: ...


class StateRows(Protocol):
    """The rows. Each call is one transaction off the loop."""

    async def keep(self, state: OpenState) -> None:
        """Write or lengthen the target's open row; a re-closing never shortens."""

    async def clear(self, target: TargetRef, why: str, now: datetime) -> None: ...


class QuotaStates:
    def __init__(self, gate: Gate, rows: StateRows, tasks: TaskOwner) -> None:
        self._gate = gate
        self._rows = rows
        self._tasks = tasks
        self._clock = tasks.clock
        self._open: dict[TargetRef, OpenState] = {}
        self._breakers: dict[str, Breaker] = {}  # by model key

    @property
    def open(self) -> Mapping[TargetRef, OpenState]:
        return self._open

    def refused(self, place: Place, refusal: Refusal, rules: LaneRules) -> Consequence:
        """A provider said no, or failed: close what follows from it."""
        consequence = consequence_of(refusal, rules, account_wide=place.account_wide, now=self._now())
        if consequence.effect is Effect.FAULT:
            self._count_fault(place)
        elif consequence.effect is not Effect.NOTHING:
            self._close(self._target(place, refusal, consequence), refusal, consequence)
        return consequence

    def succeeded(self, place: Place) -> None:
        """A real answer: whatever said that this place is closed is wrong by now."""
        breaker = self._breakers.get(place.model)
        if breaker is not None:
            breaker.succeeded(self._clock.now_us())
        if not self._open:
            return
        for target in place.refs():
            if target in self._open:
                self.clear(target, "an answer came through")

    def is_tripped(self, model: str) -> bool:
        """Has it failed so much of late that a role had better ask its others first?"""
        breaker = self._breakers.get(model)
        return breaker is not None and breaker.is_open(self._clock.now_us())

    def clear(self, target: TargetRef, why: str) -> None:
        """Open a target everywhere, now."""
        self._open.pop(target, None)
        self._gate.reopen_target(target)
        log.info("quota state cleared", target=_name(target), why=why)
        self._tasks.spawn(self._rows.clear(target, why, self._now()))

    def follow(self, rows: Collection[OpenState]) -> None:
        """The rows as they are now: take over what others closed, open what others (an admin, a probe) cleared.

        What was closed here a moment ago may not be a row yet, so its absence says nothing."""
        fresh = {state.target: state for state in rows}
        settled_us = self._clock.wall_us() - BEING_WRITTEN_US
        gone = [state.target for state in self._open.values() if state.since_wall_us <= settled_us]
        for target in [target for target in gone if target not in fresh]:
            del self._open[target]
            self._gate.reopen_target(target)
        for target, state in fresh.items():
            known = self._open.get(target)
            if known is None or known.until_wall_us < state.until_wall_us:
                self._open[target] = state
                self._gate.close_target(Closure(target, state.until_wall_us, state.reason, used_up=True))

    def _target(self, place: Place, refusal: Refusal, consequence: Consequence) -> TargetRef:
        if refusal.kind is RefusalKind.AUTH and place.credential_id is not None:
            return TargetRef(place.provider, Scope.CREDENTIAL, place.credential_id)  # that key, not its account
        return place.ref(consequence.scope)

    def _close(self, target: TargetRef, refusal: Refusal, consequence: Consequence) -> None:
        until_wall_us = self._clock.wall_us() + round(consequence.wait_s * 1e6)
        used_up = consequence.effect is Effect.USED_UP
        self._gate.close_target(Closure(target, until_wall_us, str(refusal.kind), used_up))
        if not used_up:
            return
        known = self._open.get(target)
        if known is not None and known.until_wall_us >= until_wall_us:
            return
        state = OpenState(
            target=target,
            until_wall_us=until_wall_us,
            reason=str(refusal.kind),
            limit_name=refusal.limit_name,
            evidence=refusal.message or refusal.evidence,
            since_wall_us=self._clock.wall_us(),
        )
        self._open[target] = state
        level = log.error if refusal.kind is RefusalKind.AUTH else log.warning
        level("used up", target=_name(target), reason=state.reason, wait_s=round(consequence.wait_s))
        self._tasks.spawn(self._rows.keep(state))

    def _count_fault(self, place: Place) -> None:
        now_us = self._clock.now_us()
        self._forget_idle(now_us)
        open_until_us = self._breakers.setdefault(place.model, Breaker()).failed(now_us)
        if open_until_us is not None:
            log.warning("breaker open", model=place.model, seconds=(open_until_us - now_us) / 1e6)

    def _forget_idle(self, now_us: int) -> None:
        """Memory does not grow with the targets ever seen failing."""
        for key in [key for key, breaker in self._breakers.items() if breaker.is_idle(now_us)]:
            del self._breakers[key]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_us() / 1e6, UTC)


def _name(target: TargetRef) -> str:
    return f"{target.provider} {target.scope} {target.key}".strip()
