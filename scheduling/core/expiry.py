"""What happens because time has passed: deadlines, leases that were not renewed, blocked heads that are due."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.core import door
from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Event, Left, Lost
from scheduling.core.readiness import wake
from scheduling.core.starts import drop_rested, leave_line, release, settle, unpark, unpark_line
from scheduling.core.state import Lease, State, Ticket
from scheduling.core.tickets import Actual
from scheduling.core.times import tell_capacity


def expire(state: State, now: Moment) -> list[Event]:
    """Reap what was not renewed, wake what is due. Comes before the starts of a verb."""
    events: list[Event] = []
    while (key := state.expiries.first_key()) is not None and key[0] <= now.us:
        events.append(_reap(state, now))
    while (key := state.dues.first_key()) is not None and key[0] <= now.us:
        pool = state.dues.first()
        assert pool is not None, "there is a first key"
        wake(state, pool, now)
    while (key := state.warming.first_key()) is not None and key[0] <= now.us:
        _cool(state, now)
    drop_rested(state, now)
    return events


def time_out(state: State, now: Moment) -> list[Event]:
    """Whoever has waited to its deadline goes. After the starts: at its very deadline a ticket may still start."""
    events: list[Event] = []
    while (key := state.deadlines.first_key()) is not None and key[0] <= now.us:
        ticket = state.deadlines.first()
        assert ticket is not None, "there is a first key"
        events.append(_timed_out(state, ticket, now))
    return events


def next_due_us(state: State) -> int | None:
    firsts = (
        state.deadlines.first_key(),
        state.expiries.first_key(),
        state.dues.first_key(),
        state.warming.first_key(),
    )
    return min((key[0] for key in firsts if key is not None), default=None)


def acknowledge(state: State, ticket_ids: Iterable[str], now: Moment) -> None:
    for ticket_id in ticket_ids:
        lease = state.leases.get(ticket_id)
        if lease is not None and lease.offered:
            lease.offered = False
            _extend(state, lease, now)


def renew(state: State, holder: str, held: set[str], now: Moment) -> None:
    """Longer for those named; of this holder's others, those that are no longer offers are released."""
    for lease in [one for one in state.leases.values() if one.ask.holder == holder]:
        if lease.ask.ticket_id in held:
            lease.offered = False
            _extend(state, lease, now)
        elif not lease.offered:
            settle(state, lease, Ending.FAILED, Actual(), now)
            release(state, lease, now, ran=False)


def after_configure(state: State, now: Moment) -> list[Event]:
    """Those in line under the new rules: other deadlines; too large, paused or without a profile, they go."""
    for limiter in list(state.limiters.values()):
        unpark(state, limiter, now)
    events: list[Event] = []
    for ticket in list(state.tickets.values()):
        left = _left_by_configuration(state, ticket, now)
        if left is not None:
            leave_line(state, ticket, now)
            events.append(left)
            continue
        ticket.deadline_us = door.deadline_us(ticket)
        state.deadlines.put(ticket, (ticket.deadline_us, ticket.number))
    return events


def _left_by_configuration(state: State, ticket: Ticket, now: Moment) -> Left | None:
    model = ticket.model
    provider = model.provider
    gone = provider.spec.key not in state.spec.providers or model.spec.key not in provider.spec.models
    if gone or provider.rules is None:
        left: Left | None = door.profile_missing(ticket.ask)
    elif provider.spec.pause_sends_away or model.spec.pause_sends_away:
        left = door.paused(ticket)
    else:
        left = door.exceeds_limit(ticket)
    return left and Left(left.ticket_id, left.code, door.with_queue_time(left.told, ticket, now))


def _reap(state: State, now: Moment) -> Lost:
    """Nobody renewed it: an offer that was not acknowledged was never sent; a lease was, and its charges stay."""
    lease = state.expiries.first()
    assert lease is not None, "there is a first key"
    settle(state, lease, Ending.UNSENT if lease.offered else Ending.FAILED, Actual(), now)
    release(state, lease, now, ran=False)
    return Lost(lease.ask.ticket_id)


def _cool(state: State, now: Moment) -> None:
    line = state.warming.first()
    assert line is not None, "there is a first key"
    state.warming.drop(line)
    if line.tickets and line.parked and line.parked_on is None:
        unpark_line(state, line, now)


def _timed_out(state: State, ticket: Ticket, now: Moment) -> Left:
    queue_us = ticket.deadline_us - ticket.arrived_us
    told = tell_capacity(state, ticket, now, queue_us=queue_us)
    leave_line(state, ticket, now)
    return Left(ticket.ask.ticket_id, Code.PROVIDER_QUEUE_TIMEOUT, told)


def _extend(state: State, lease: Lease, now: Moment) -> None:
    if state.lease_us is not None:
        lease.expires_us = now.us + state.lease_us
        state.expiries.put(lease, (lease.expires_us, lease.number))
