"""When to come back: what a caller who did not get through is told.

Exact where pace, tokens or a closing stand in the way; for lanes the p90 of the remaining run time, marked an estimate.
For want of room at least 1 s, and 1 s where nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scheduling.core.charge import arrival_amount
from scheduling.core.moment import FAR_US, SECOND_US, Moment, ceil_div
from scheduling.core.outcomes import PACED, Reason, Told
from scheduling.core.slots import ComeBackSlots
from scheduling.core.starts import paced
from scheduling.core.state import Lease, ModelState, State, Ticket

AT_LEAST_US: Final = SECOND_US


@dataclass(frozen=True, slots=True)
class Places:
    """When places become free: the first, and how far apart the next ones."""

    first_us: int
    spacing_us: int
    estimate: bool


def tell_capacity(state: State, ticket: Ticket, now: Moment, *, relay: bool = False, queue_us: int = 0) -> Told:
    """For one who found no place, or gave it up, or waited in vain: the next free slot."""
    reason = Reason.RELAY if relay else why_waiting(state, ticket)
    places = _places(state, ticket, reason, now, relay=relay)
    slots: ComeBackSlots = state.slots if relay else ticket.model.provider.slots
    slot_us = slots.take(places.first_us, places.spacing_us)
    return Told(
        retry_after_us=slot_us - now.us,
        estimate=places.estimate,
        queue_us=queue_us,
        pace_us=min(paced(ticket, now), queue_us),
        reason=reason,
    )


def tell_until(ticket: Ticket, until_us: int, reason: Reason, now: Moment, *, queue_us: int = 0) -> Told:
    """For one who has to wait for a time that is known exactly."""
    return Told(
        retry_after_us=max(0, until_us - now.us) if until_us < FAR_US else AT_LEAST_US,
        estimate=until_us >= FAR_US,
        queue_us=queue_us,
        pace_us=min(paced(ticket, now), queue_us),
        reason=reason,
        closed_until_wall_us=wall_of(until_us, now) if reason is Reason.CLOSED else None,
    )


def wall_of(until_us: int, now: Moment) -> int:
    return now.wall_us + until_us - now.us


def why_waiting(state: State, ticket: Ticket) -> Reason:
    """What the ticket waits for, seen from the widest axis to the narrowest."""
    model, klass = ticket.model, ticket.ask.klass
    line = model.lines[klass].line_of(ticket.ask.flow)
    if line is not None and line.parked:
        return Reason.FLOW if line.parked_on is not None else Reason.CREDENTIAL
    if model.pool.blocked.get(model) is not None:
        return model.pool.blocked[model].reason
    if not model.lane.has_room(klass):
        return Reason.MODEL
    if not model.provider.lane.has_room(klass):
        return Reason.PROVIDER
    return Reason.RELAY


def remaining_us(lease: Lease, percent: int, now: Moment) -> int | None:
    """How long a running call will go on, by what calls of its model took that ran at least as long; None = unknown."""
    ran_us = now.us - lease.granted_us
    whole_us = lease.model.run_times.percentile(percent, above=ran_us)
    return None if whole_us is None else whole_us - ran_us


def _places(state: State, ticket: Ticket, reason: Reason, now: Moment, *, relay: bool) -> Places:
    model = ticket.model
    if not relay and (reason in PACED or reason is Reason.CLOSED):
        due_us = model.pool.blocked[model].due_us
        if due_us < FAR_US:
            return Places(max(due_us, now.us), _pace_us(model, ticket), estimate=False)
    leases = (
        state.leases.values()
        if relay
        else [one for one in state.leases.values() if one.model.provider is model.provider]
    )
    return _lane_places(leases, model, now)


def _pace_us(model: ModelState, ticket: Ticket) -> int:
    rule, charge = model.rules.charge_rule, ticket.ask.charge
    windows = model.windows + (model.roads[0].windows if model.roads else ())
    spacings = [axis.spacing_us(arrival_amount(rule, axis.measure, charge, axis.limit)) for axis in windows]
    return max(spacings, default=SECOND_US)


def _lane_places(leases: Iterable[Lease], model: ModelState, now: Moment) -> Places:
    running = list(leases)
    remaining = [left_us for lease in running if (left_us := remaining_us(lease, 90, now)) is not None]
    first_us = max(AT_LEAST_US, min(remaining, default=AT_LEAST_US))
    typical_us = model.run_times.percentile(90)
    spacing_us = AT_LEAST_US if typical_us is None else max(1, ceil_div(typical_us, max(1, len(running))))
    return Places(now.us + first_us, spacing_us, estimate=True)
