"""At the door: who may stand in line, who is refused, who gives its place to whom.

Refused at once, before a ticket: no lane profile; paused; larger than a limit on its own; the caller's own limit
reached; used up until after the deadline; certain (by pacer, ledger, closing - never by guessed run times) not to start
before the deadline. Then: a ticket that can start, starts; else it waits, if there is a place. Is there none, the
newcomer is refused, unless someone waiting should rather go: of a lower class, the youngest of the lowest; within the
class, under fair sharing, the youngest of the flow that has most waiting there, if that is at least two more than the
newcomer's.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.core.axes import Posting, WindowAxis
from scheduling.core.charge import arrival_amount, largest_cap, too_large
from scheduling.core.limiters import Limiter, Reached
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Left, Reason, Told
from scheduling.core.policy import closed_until
from scheduling.core.readiness import refresh, wake
from scheduling.core.spec import Class, FairBy, FlowSpec
from scheduling.core.starts import let_rest, paced
from scheduling.core.state import Closing, ModelState, Roll, State, Ticket
from scheduling.core.tickets import Ask
from scheduling.core.times import AT_LEAST_US, tell_until


def refusal_before_line(state: State, ticket: Ticket, now: Moment) -> Left | None:
    """What refuses the ticket whatever the lanes look like."""
    return (
        paused(ticket)
        or exceeds_limit(ticket)
        or _own_limit(state, ticket, now)
        or _used_up(ticket, now)
        or _certainly_late(state, ticket, now)
    )


def profile_missing(ask: Ask) -> Left:
    return Left(ask.ticket_id, Code.LANE_PROFILE_MISSING, Told(reason="configuration"))


def deadline_us(ticket: Ticket) -> int:
    """The profile's wait or the caller's own, whichever ends first, from its arrival on."""
    wait_us = ticket.model.rules.wait_timeout_us
    own_us = ticket.ask.max_wait_us
    return ticket.arrived_us + (wait_us if own_us is None else min(wait_us, max(0, own_us)))


def with_queue_time(told: Told, ticket: Ticket, now: Moment) -> Told:
    queue_us = now.us - ticket.arrived_us
    return replace(told, queue_us=queue_us, pace_us=min(paced(ticket, now), queue_us))


def enter_line(state: State, ticket: Ticket, now: Moment) -> None:
    ask, model = ticket.ask, ticket.model
    lines = model.lines[ask.klass]
    lines.add(ticket, weight_of(state, ask))
    line = lines.line_of(ask.flow)
    assert line is not None, "it was just entered"
    for key in ticket.own_amounts:
        state.limiters[key].enter(ticket, line)
        state.resting.drop(key)
    state.tickets[ask.ticket_id] = ticket
    state.deadlines.put(ticket, (ticket.deadline_us, ticket.number))
    state.roll.add(ticket)
    model.provider.roll.add(ticket)
    model.waiting += 1
    ticket.paced_before_us = model.paced_until(now.us)
    wake(state, model.pool, now)
    refresh(state, model)


def weight_of(state: State, ask: Ask) -> int:
    """The user's weight times those of its token and team."""
    weight = 1
    for key in dict.fromkeys((ask.flow, *ask.limits)):
        spec = state.spec.flows.get(key)
        weight *= spec.weight if spec else 1
    return max(1, weight)


def limiters_of(state: State, ask: Ask, now: Moment) -> list[Limiter]:
    """The own limits that bind this ask; made when first needed."""
    found = []
    for key in dict.fromkeys((ask.flow, *ask.limits)):
        spec = state.spec.flows.get(key)
        if spec is None or not _limits_anything(spec):
            continue
        limiter = state.limiters.get(key)
        if limiter is None:
            limiter = state.limiters[key] = Limiter(spec)
            let_rest(state, limiter, now)
        found.append(limiter)
    return found


def who_should_go(state: State, newcomer: Ticket, *, can_start: bool) -> tuple[Ticket, Code] | None:
    """If a bound is passed: who leaves, and what the newcomer is told if it is the one. None = there is a place."""
    provider = newcomer.model.provider
    relay_full = state.inside > state.spec.relay.max_inside
    line_full = not can_start and provider.rules is not None and provider.roll.count > provider.rules.max_waiting
    if not (relay_full or line_full):
        return None
    code = Code.GATEWAY_OVERLOADED if relay_full else Code.PROVIDER_QUEUE_FULL
    roll = provider.roll if line_full else state.roll
    return _rather(roll, newcomer) or newcomer, code


def certain_start_us(state: State, ticket: Ticket, now: Moment) -> tuple[int, Reason]:
    """A lower bound of the start by what is certain, as if everything still running gave all its charges back."""
    model = ticket.model
    start_us, reason = max(closed_until(model.provider.closing), closed_until(model.closing)), Reason.CLOSED
    for axis in model.windows:
        start_us, reason = max((start_us, reason), (_certain(state, axis, ticket, now), axis.reason), key=_time)
    if model.roads:
        start_us, reason = max((start_us, reason), _certain_road(state, ticket, now), key=_time)
    return start_us, reason


def paused(ticket: Ticket) -> Left | None:
    model, provider = ticket.model, ticket.model.provider
    paused = provider.spec.paused or model.spec.paused
    if not paused and (model.roads is None or any(not road.credential.spec.paused for road in model.roads)):
        return None
    message = provider.spec.pause_message or model.spec.pause_message
    told = Told(reason=Reason.PAUSED, detail={"pause_message": message} if message else None)
    return Left(ticket.ask.ticket_id, Code.PROVIDER_PAUSED, told)


def exceeds_limit(ticket: Ticket) -> Left | None:
    rules, charge = ticket.model.rules, ticket.ask.charge
    for axis in _all_windows(ticket.model):
        if not too_large(rules.charge_rule, axis.measure, charge, axis.limit):
            continue
        detail: dict[str, object] = {
            "measure": axis.measure.value,
            "estimate": arrival_amount(rules.charge_rule, axis.measure, charge, axis.limit),
            "limit": axis.limit,
            "largest_cap": largest_cap(rules.charge_rule, axis.measure, charge, axis.limit),
        }
        return Left(ticket.ask.ticket_id, Code.REQUEST_EXCEEDS_LIMIT, Told(reason=axis.reason, detail=detail))
    return None


def _all_windows(model: ModelState) -> tuple[WindowAxis, ...]:
    return model.windows + (model.roads[0].windows if model.roads else ())


def _own_limit(state: State, ticket: Ticket, now: Moment) -> Left | None:
    line = ticket.model.lines[ticket.ask.klass].line_of(ticket.ask.flow)
    for limiter in limiters_of(state, ticket.ask, now):
        reached = limiter.reached(ticket, line, now)
        if reached is not None:
            return _own_limit_reached(ticket, limiter, reached, now)
        ticket.own_amounts[limiter.spec.key] = limiter.amount(ticket)
    return None


def _own_limit_reached(ticket: Ticket, limiter: Limiter, reached: Reached, now: Moment) -> Left:
    detail: dict[str, object] = {"limit_name": reached.limit_name, "limit": reached.limit, "of": limiter.spec.key}
    if reached.permanent:
        charge = ticket.ask.charge
        detail |= {"estimate": limiter.amount(ticket), "largest_cap": max(0, reached.limit - charge.prompt_tokens)}
        return Left(ticket.ask.ticket_id, Code.REQUEST_EXCEEDS_LIMIT, Told(reason=Reason.FLOW, detail=detail))
    known = reached.until_us is not None
    retry_after_us = reached.until_us - now.us if reached.until_us is not None else AT_LEAST_US
    told = Told(retry_after_us=retry_after_us, estimate=not known, reason=Reason.FLOW, detail=detail)
    return Left(ticket.ask.ticket_id, Code.TOKEN_LIMIT_REACHED, told)


def _used_up(ticket: Ticket, now: Moment) -> Left | None:
    closing = used_up_closing(ticket.model, now)
    if closing is None or closing.until_us <= ticket.deadline_us:
        return None
    told = tell_until(ticket, closing.until_us, Reason.CLOSED, now)
    return Left(ticket.ask.ticket_id, Code.INSUFFICIENT_QUOTA, told)


def used_up_closing(model: ModelState, now: Moment) -> Closing | None:
    """The used-up closing that rules the model longest; of its credentials only if all of them are closed."""
    closings = [model.provider.closing, model.closing]
    if model.roads:
        soonest = min((road.credential for road in model.roads), key=lambda one: closed_until(one.closing))
        closings.append(soonest.closing)
    open_ones = [one for one in closings if one is not None and one.used_up and one.until_us > now.us]
    return max(open_ones, key=lambda one: one.until_us, default=None)


def _certainly_late(state: State, ticket: Ticket, now: Moment) -> Left | None:
    start_us, reason = certain_start_us(state, ticket, now)
    if start_us <= max(ticket.deadline_us, now.us):
        return None
    return Left(ticket.ask.ticket_id, Code.PROVIDER_QUEUE_TIMEOUT, tell_until(ticket, start_us, reason, now))


def _certain_road(state: State, ticket: Ticket, now: Moment) -> tuple[int, Reason]:
    bounds = []
    for road in ticket.model.roads or ():
        bound = (closed_until(road.credential.closing), Reason.CLOSED)
        for axis in road.windows:
            bound = max(bound, (_certain(state, axis, ticket, now), axis.reason), key=_time)
        bounds.append(bound)
    return min(bounds, key=_time)


def _certain(state: State, axis: WindowAxis, ticket: Ticket, now: Moment) -> int:
    amount = arrival_amount(ticket.model.rules.charge_rule, axis.measure, ticket.ask.charge, axis.limit)
    start_us = axis.earliest(amount, now)
    if start_us <= ticket.deadline_us:
        return start_us
    return axis.earliest(amount, now, forgiven=sum(posting.amount for posting in _open_postings(state, axis)))


def _open_postings(state: State, axis: WindowAxis) -> list[Posting]:
    leases = state.leases.values()
    return [posting for lease in leases if not lease.settled for posting in lease.postings if posting.axis is axis]


def _time(bound: tuple[int, Reason]) -> int:
    return bound[0]


def _rather(roll: Roll, newcomer: Ticket) -> Ticket | None:
    """Someone waiting who should rather go than the newcomer."""
    for klass in (Class.BATCH, Class.NORMAL):
        if klass > newcomer.ask.klass and roll.by_class[klass]:
            return roll.by_class[klass][max(roll.by_class[klass])]
    if newcomer.model.rules.fair_by is FairBy.USER:
        return _of_the_greediest(roll, newcomer)
    return None


def _of_the_greediest(roll: Roll, newcomer: Ticket) -> Ticket | None:
    flows = roll.by_flow[newcomer.ask.klass]
    most = max(flows.values())
    own = flows[newcomer.ask.flow] - 1  # without the newcomer itself
    if most < own + 2:
        return None
    waiting = roll.by_class[newcomer.ask.klass]
    return waiting[max(number for number, one in waiting.items() if flows[one.ask.flow] == most)]


def _limits_anything(spec: FlowSpec) -> bool:
    return spec.concurrency is not None or spec.rpm is not None or spec.tpm is not None
