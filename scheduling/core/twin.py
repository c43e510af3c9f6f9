"""A copy of the state to look ahead with: lanes, windows and pacers as they are, the lines cut to those asked for.

Built like a new core from the same configuration (only of providers where something is going on), then given the same
past. Nothing in it is shared with the original but what never changes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from scheduling.core.arrange import take_over
from scheduling.core.axes import Posting
from scheduling.core.door import enter_line
from scheduling.core.moment import Moment
from scheduling.core.readiness import refresh
from scheduling.core.state import Lease, ModelState, State, Ticket


def twin_of(state: State, kept: Collection[str], now: Moment) -> State:
    """A state in which the tickets `kept` wait and all leases run."""
    busy = {key for key, one in state.providers.items() if one.roll.count or one.lane.running}
    providers = {key: spec for key, spec in state.spec.providers.items() if key in busy}
    twin = State(replace(state.spec, providers=providers))
    take_over(twin, twin.spec, now)
    for model in twin.models.values():
        _copy_model(state.models[model.spec.key], model)
    _copy_providers(state, twin)
    twin.limiters = {key: limiter.copy() for key, limiter in state.limiters.items()}
    twin.conversations = dict(state.conversations)
    _copy_leases(state, twin)
    twin.skip_numbers(state)
    _copy_tickets(state, twin, kept, now)
    for model in twin.models.values():
        refresh(twin, model)
    return twin


def _copy_model(original: ModelState, twin: ModelState) -> None:
    twin.turn, twin.closing, twin.run_times = original.turn, original.closing, original.run_times
    for lines, known in zip(twin.lines, original.lines, strict=True):
        lines.copy_shares(known)


def _copy_providers(state: State, twin: State) -> None:
    for key, provider in twin.providers.items():
        original = state.providers[key]
        provider.turn, provider.closing = original.turn, original.closing
        for credential_id, credential in provider.credentials.items():
            credential.closing = original.credentials[credential_id].closing
        for axis_key, axis in provider.axes.items():
            axis.copy_charges(original.axes[axis_key])


def _copy_leases(state: State, twin: State) -> None:
    for ticket_id, original in state.leases.items():
        model = twin.models.get(original.model.spec.key)
        if model is None:  # its model is no longer configured
            twin.lane.take(original.ask.klass)
            continue
        twin.leases[ticket_id] = _copy_lease(original, model, twin)


def _copy_lease(original: Lease, model: ModelState, twin: State) -> Lease:
    credential = original.credential and model.provider.credentials.get(original.credential.spec.id)
    lease = Lease(original.ticket, original.number, model, credential, original.granted_us)
    lease.settled = original.settled
    axes = model.provider.axes
    lease.postings = [
        Posting(axes[one.axis.key], one.number, one.amount, one.stamp)
        for one in original.postings
        if one.axis.key in axes
    ]
    lease.own = [(twin.limiters[limiter.spec.key], replace(stamps)) for limiter, stamps in original.own]
    for lane in lease.lanes(twin):
        lane.take(lease.ask.klass)
    return lease


def _copy_tickets(state: State, twin: State, kept: Collection[str], now: Moment) -> None:
    for ticket in state.tickets.values():
        model = twin.models.get(ticket.model.spec.key)
        if model is None or ticket.ask.ticket_id not in kept:
            continue
        copy = Ticket(ticket.ask, model, ticket.number, ticket.arrived_us)
        copy.deadline_us, copy.kept_warm = ticket.deadline_us, ticket.kept_warm
        copy.own_amounts = dict(ticket.own_amounts)
        enter_line(twin, copy, now)
