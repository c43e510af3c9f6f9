"""The state describes itself: see `snapshot.py` for what the picture holds."""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.core.axes import WindowAxis
from scheduling.core.moment import FAR_US, SECOND_US, Moment, ceil_div
from scheduling.core.outcomes import Reason
from scheduling.core.policy import closed_until
from scheduling.core.predict import going_order, predict
from scheduling.core.snapshot import (
    LeaseView,
    ModelView,
    ProviderView,
    QueueSnapshot,
    TicketView,
    WindowView,
)
from scheduling.core.state import CLASSES, Closing, Lease, ModelState, ProviderState, State, Ticket
from scheduling.core.times import why_waiting


def describe(state: State, now: Moment) -> QueueSnapshot:
    starts = predict(state, now)
    return QueueSnapshot(
        version=state.version,
        at_wall_ms=now.wall_us // 1000,
        running=state.lane.running,
        max_running=state.spec.relay.max_running,
        inside=state.inside,
        max_inside=state.spec.relay.max_inside,
        waiting=len(state.tickets),
        waiting_by_class={klass.name.lower(): len(state.roll.by_class[klass]) for klass in CLASSES},
        providers=tuple(_provider(one, state, now) for one in state.providers.values()),
        tickets=tuple(ticket for model in state.models.values() for ticket in _tickets(model, starts, state, now)),
        leases=tuple(_lease(lease, now) for lease in state.leases.values()),
    )


def _provider(provider: ProviderState, state: State, now: Moment) -> ProviderView:
    rules = provider.rules
    running = [lease for lease in state.leases.values() if lease.model.provider is provider]
    return ProviderView(
        key=provider.spec.key,
        profile_missing=rules is None,
        running=provider.lane.running,
        limit=rules.lanes if rules else 0,
        waiting=provider.roll.count,
        max_waiting=rules.max_waiting if rules else 0,
        paused=provider.spec.paused,
        pause_message=provider.spec.pause_message,
        longest_running_ms=max((_ms(now.us - lease.granted_us) for lease in running), default=None),
        models=tuple(_model(one, now) for one in provider.models.values()),
    )


def _model(model: ModelState, now: Moment) -> ModelView:
    closing = _ruling_closing(model, now)
    return ModelView(
        key=model.spec.key,
        running=model.lane.running,
        limit=model.lane.limit,
        waiting=model.waiting,
        paused=model.spec.paused,
        next_start_ms=_next_start_ms(model, now),
        closed_until_ms=_ms(closing.until_us - now.us) if closing else None,
        closed_reason=closing.reason if closing else "",
        windows=tuple(_window(axis, now) for axis in _windows(model)),
    )


def _ruling_closing(model: ModelState, now: Moment) -> Closing | None:
    closings = [one for one in (model.provider.closing, model.closing) if one is not None and one.until_us > now.us]
    return max(closings, key=lambda one: one.until_us, default=None)


def _next_start_ms(model: ModelState, now: Moment) -> int | None:
    """By pacers and ledgers alone, for the smallest request."""
    starts = [axis.earliest(1, now) for axis in model.windows]
    if model.roads:
        starts.append(
            min(max((axis.earliest(1, now) for axis in road.windows), default=now.us) for road in model.roads)
        )
    start_us = max([*starts, closed_until(model.closing), closed_until(model.provider.closing), now.us])
    return None if start_us >= FAR_US else _ms(start_us - now.us)


def _windows(model: ModelState) -> Iterator[WindowAxis]:
    yield from dict.fromkeys(
        (
            *model.windows,
            *model.estimates,
            *(axis for road in model.roads or () for axis in road.windows + road.estimates),
        )
    )


def _window(axis: WindowAxis, now: Moment) -> WindowView:
    return WindowView(
        measure=axis.measure.value,
        scope=axis.scope.value,
        used=axis.window.used(now),
        limit=axis.limit,
        window_s=axis.length_us / SECOND_US,
        mode=axis.mode.value,
    )


def _tickets(model: ModelState, starts: dict[str, int], state: State, now: Moment) -> Iterator[TicketView]:
    for place, ticket in enumerate(going_order(model), start=1):
        yield _ticket(ticket, place, starts.get(ticket.ask.ticket_id), why_waiting(state, ticket), now)


def _ticket(ticket: Ticket, place: int, start_us: int | None, reason: Reason, now: Moment) -> TicketView:
    ask = ticket.ask
    return TicketView(
        id=ask.ticket_id,
        provider=ask.provider,
        model=ask.model,
        klass=ask.klass.name.lower(),
        flow=ask.flow,
        owner=ask.owner,
        purpose=ask.purpose,
        place=place,
        waited_ms=_ms(now.us - ticket.arrived_us),
        estimated_start_ms=None if start_us is None else _ms(start_us - now.us),
        reason=reason.value,
    )


def _lease(lease: Lease, now: Moment) -> LeaseView:
    ask = lease.ask
    return LeaseView(
        id=ask.ticket_id,
        provider=ask.provider,
        model=ask.model,
        klass=ask.klass.name.lower(),
        flow=ask.flow,
        owner=ask.owner,
        purpose=ask.purpose,
        running_ms=_ms(now.us - lease.granted_us),
    )


def _ms(us: int) -> int:
    return ceil_div(us, 1000)
