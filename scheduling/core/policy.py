"""Who goes next: the one decision over all axes.

Heads are walked in this order: class; within a class providers in turn (the one whose last start is longest ago);
within a provider the model with the fewest running, then the one whose last start is longest ago; within a model the
lines by fair share (`lines.py`). The first head whose axes all have room starts. On the way
- a line held up by its flow's own limits is parked: it pins nothing and the others pass;
- a head held up by a shared pacer or ledger pins the axes that hold it up: what stands behind takes nothing from them;
- a head without room on a lane pins nothing: all behind it need that lane too, or do not use it.

All tickets of a model use the same axes, so a blocked head blocks its model, which sleeps until it is due or woken.
Nothing is looked at twice without a cause: picking does not grow with the number of those who wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scheduling.core.axes import WindowAxis
from scheduling.core.charge import arrival_amount
from scheduling.core.limiters import Limiter
from scheduling.core.lines import Line
from scheduling.core.moment import FAR_US, SECOND_US, Moment
from scheduling.core.outcomes import Reason
from scheduling.core.readiness import block, refresh
from scheduling.core.state import CLASSES, Blocked, Closing, CredentialRoad, CredentialState, ModelState, State, Ticket

KEPT_WARM_US: Final = 2 * SECOND_US
"""A conversation stays with its credential (the provider's prompt cache) if that costs it no more than this."""


@dataclass(frozen=True, slots=True)
class Choice:
    ticket: Ticket
    credential: CredentialState | None
    windows: tuple[WindowAxis, ...]
    estimates: tuple[WindowAxis, ...]


@dataclass(frozen=True, slots=True)
class Hindrance:
    """What keeps a head from starting now."""

    until_us: int
    reason: Reason
    pins: tuple[WindowAxis, ...] = ()
    keeps_warm: bool = False  # by its own choice: it could start with another credential


def pick_next(state: State, now: Moment) -> Choice | None:
    """The next ticket that may start now. Models found blocked go to sleep, lines found held up are parked."""
    for klass in CLASSES:
        if not state.lane.has_room(klass):
            continue
        while (provider := state.ready[klass].first()) is not None:
            while provider.ready[klass] and (model := provider.ready[klass].first()) is not None:
                line = model.lines[klass].first
                assert line is not None, "a ready model has a line in the order"
                choice = _try(state, model, line, now)
                if choice is not None:
                    return choice
    return None


def _try(state: State, model: ModelState, line: Line, now: Moment) -> Choice | None:
    limiter = full_limiter(state, line.head)
    if limiter is not None:
        limiter.parked[line] = None
        _park(state, model, line, limiter)
        return None
    verdict = judge(state, line.head, now)
    if isinstance(verdict, Choice):
        return verdict
    if verdict.keeps_warm:
        line.head.kept_warm = True
        state.warming.put(line, (verdict.until_us, line.head.number))
        _park(state, model, line, None)
        return None
    for axis in verdict.pins:
        model.pool.pinned.setdefault(axis, verdict.until_us)
    block(state, model, Blocked(verdict.until_us, verdict.reason), now)
    return None


def _park(state: State, model: ModelState, line: Line, limiter: Limiter | None) -> None:
    line.lines.park(line, limiter)
    refresh(state, model)


def full_limiter(state: State, ticket: Ticket) -> Limiter | None:
    for key in ticket.own_amounts:
        limiter = state.limiters[key]
        if limiter.is_full:
            return limiter
    return None


def judge(state: State, ticket: Ticket, now: Moment) -> Choice | Hindrance:
    """Whether a head starts now, given room on its lanes and in its own limits."""
    model = ticket.model
    if (shut := _shut(model, now)) is not None:
        return shut
    if model.windows and (found := hindrance(model.windows, ticket, now)) is not None:
        return found
    if model.roads is None:
        return Choice(ticket, None, model.windows, model.estimates)
    road = _pick_road(state, model.roads, ticket, now)
    if isinstance(road, Hindrance):
        return road
    return Choice(ticket, road.credential, model.windows + road.windows, model.estimates + road.estimates)


def _shut(model: ModelState, now: Moment) -> Hindrance | None:
    provider = model.provider
    if provider.spec.paused or model.spec.paused:
        return Hindrance(FAR_US, Reason.PAUSED)
    until_us = max(closed_until(provider.closing), closed_until(model.closing))
    return Hindrance(until_us, Reason.CLOSED) if until_us > now.us else None


def closed_until(closing: Closing | None) -> int:
    return 0 if closing is None else closing.until_us


def hindrance(windows: tuple[WindowAxis, ...], ticket: Ticket, now: Moment) -> Hindrance | None:
    """What of these windows holds the ticket up; None if all have room."""
    model = ticket.model
    pinned, rule, charge = model.pool.pinned, model.rules.charge_rule, ticket.ask.charge
    until_us, reason, pins = now.us, Reason.PACE, []
    for axis in windows:
        start_us = axis.earliest(arrival_amount(rule, axis.measure, charge, axis.limit), now)
        if start_us > now.us:
            pins.append(axis)
        elif axis in pinned:
            start_us = max(pinned[axis], now.us + 1)
        if start_us > until_us:
            until_us, reason = start_us, axis.reason
    return Hindrance(until_us, reason, tuple(pins)) if until_us > now.us else None


def _pick_road(
    state: State, roads: tuple[CredentialRoad, ...], ticket: Ticket, now: Moment
) -> CredentialRoad | Hindrance:
    """The least loaded credential that can start now; rather the conversation's last one, if it can within 2 s."""
    last = state.conversations.get(ticket.ask.conversation) if ticket.ask.conversation else None
    free: list[CredentialRoad] = []
    hindered: list[Hindrance] = []
    warm: Hindrance | None = None
    for road in roads:
        found = _road_hindrance(road, ticket, now)
        if found is None:
            free.append(road)
            continue
        hindered.append(found)
        if road.credential.spec.id == last and found.until_us <= now.us + KEPT_WARM_US:
            warm = found
    if not free:
        return _join(hindered)
    if warm is not None and not ticket.kept_warm:
        return Hindrance(warm.until_us, warm.reason, keeps_warm=True)
    return min(free, key=lambda road: (road.credential.spec.id != last, road.credential.lane.running))


def _road_hindrance(road: CredentialRoad, ticket: Ticket, now: Moment) -> Hindrance | None:
    credential = road.credential
    if credential.spec.paused:
        return Hindrance(FAR_US, Reason.PAUSED)
    if closed_until(credential.closing) > now.us:
        return Hindrance(closed_until(credential.closing), Reason.CLOSED)
    if not credential.lane.has_room(ticket.ask.klass):
        return Hindrance(FAR_US, Reason.CREDENTIAL)
    return hindrance(road.windows, ticket, now) if road.windows else None


def _join(hindered: list[Hindrance]) -> Hindrance:
    """No credential is free: wait for the first; all axes in the way are pinned, for any of them will do."""
    if not hindered:
        return Hindrance(FAR_US, Reason.CREDENTIAL)
    first = min(hindered, key=lambda one: one.until_us)
    return Hindrance(first.until_us, first.reason, tuple(axis for one in hindered for axis in one.pins))
