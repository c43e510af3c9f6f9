"""Closed targets: not before a time.

A *brief* closing is one more "not before": those in line wait for it if their deadline allows. A *used-up* closing
drops the target at once: who can wait for its end stays, `batch` stays, the rest leave with the time. A re-closing
never shortens. After a used-up closing one ticket starts as a trial, the others after its first byte (`reopen`) or a
second.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.core.door import certain_start_us, used_up_closing
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Event, Left, Reason
from scheduling.core.readiness import wake
from scheduling.core.spec import Class, Scope
from scheduling.core.starts import leave_line
from scheduling.core.state import Closing, CredentialState, ModelState, ProviderState, State, Ticket
from scheduling.core.tickets import Closure, TargetRef
from scheduling.core.times import tell_until

Closable = ModelState | ProviderState | CredentialState


def close(state: State, closure: Closure, now: Moment) -> list[Event]:
    """Close every target that is meant; answers who leaves for it."""
    provider = state.providers.get(closure.target.provider)
    if provider is None or closure.until_wall_us <= now.wall_us:
        return []
    closing = Closing(now.us + closure.until_wall_us - now.wall_us, closure.reason, closure.used_up)
    for target in _targets(provider, closure.target):
        if target.closing is None or target.closing.until_us < closing.until_us:
            target.closing = closing
    _wake_all(state, provider, now)
    return [left for ticket in _waiting(provider) if (left := _sent_away(state, ticket, now)) is not None]


def reopen(state: State, target: TargetRef, now: Moment) -> None:
    provider = state.providers.get(target.provider)
    if provider is None:
        return
    for closable in _targets(provider, target):
        closable.closing = None
    _wake_all(state, provider, now)


def _targets(provider: ProviderState, target: TargetRef) -> Iterator[Closable]:
    if target.scope is Scope.PROVIDER:
        yield provider
    elif target.scope is Scope.MODEL:
        named = provider.models.get(target.key)
        group = named.spec.limit_group if named else target.key
        yield from (model for model in provider.models.values() if model.spec.limit_group == group)
    elif target.key in provider.credentials:
        yield provider.credentials[target.key]
    else:
        yield from (one for one in provider.credentials.values() if one.spec.quota_group == target.key)


def _wake_all(state: State, provider: ProviderState, now: Moment) -> None:
    for model in provider.models.values():
        wake(state, model.pool, now)


def _waiting(provider: ProviderState) -> list[Ticket]:
    return [ticket for tickets in provider.roll.by_class for ticket in tickets.values()]


def _sent_away(state: State, ticket: Ticket, now: Moment) -> Left | None:
    queue_us = now.us - ticket.arrived_us
    used_up = used_up_closing(ticket.model, now)
    if used_up is not None:
        if used_up.until_us <= ticket.deadline_us or ticket.ask.klass is Class.BATCH:
            return None
        left = Left(
            ticket.ask.ticket_id,
            Code.INSUFFICIENT_QUOTA,
            tell_until(ticket, used_up.until_us, Reason.CLOSED, now, queue_us=queue_us),
        )
    else:
        start_us, reason = certain_start_us(state, ticket, now)
        if start_us <= ticket.deadline_us:
            return None
        told = tell_until(ticket, start_us, reason, now, queue_us=queue_us)
        left = Left(ticket.ask.ticket_id, Code.PROVIDER_QUEUE_TIMEOUT, told)
    leave_line(state, ticket, now)
    return left
