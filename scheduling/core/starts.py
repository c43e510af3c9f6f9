"""A ticket starts; a lease ends. Everything a start takes is taken here, and given back here, once."""

from __future__ import annotations

from typing import Final

from scheduling.core.axes import WindowAxis
from scheduling.core.charge import RULES, Ending, arrival_amount, settled_amount
from scheduling.core.limiters import Limiter
from scheduling.core.lines import Line
from scheduling.core.moment import MINUTE_US, SECOND_US, Moment, ceil_div
from scheduling.core.outcomes import Granted
from scheduling.core.policy import Choice
from scheduling.core.readiness import refresh, wake
from scheduling.core.spec import ChargeRule, Measure
from scheduling.core.state import Closing, Lease, State, Ticket
from scheduling.core.tickets import Actual

OFFER_US: Final = 2 * SECOND_US
TRIAL_US: Final = SECOND_US
CONVERSATIONS_KEPT: Final = 10_000


def start(state: State, choice: Choice, now: Moment, *, offer: bool) -> Granted:
    """Take a place on every lane, charge every window, leave the line."""
    ticket, model = choice.ticket, choice.ticket.model
    lease = Lease(ticket, state.next_number(), model, choice.credential, now.us)
    for lane in lease.lanes(state):
        lane.take(ticket.ask.klass)
    _leave_own(state, ticket, now)
    for axis in choice.windows + choice.estimates:
        _charge(lease, axis, now)
    for key in ticket.own_amounts:
        lease.own.append((state.limiters[key], state.limiters[key].start(ticket, now)))
    lease.share = model.lines[ticket.ask.klass].charge(ticket, fair_cost(choice))
    _forget_ticket(state, ticket)
    state.leases[ticket.ask.ticket_id] = lease
    _arm_expiry(state, lease, now, offer=offer)
    lease.turns_before = (model.turn, model.provider.turn)
    model.turn = model.provider.turn = lease.number
    _remember_conversation(state, choice)
    if ticket.ask.purpose != "probe":
        _try_reopening(choice, now)
    refresh(state, model)
    return Granted(
        ticket_id=ticket.ask.ticket_id,
        provider=model.provider.spec.key,
        model=model.spec.key,
        credential_id=choice.credential.spec.id if choice.credential else None,
        rules=model.rules,
        granted_us=now.us,
        queue_us=now.us - ticket.arrived_us,
        pace_us=paced(ticket, now),
        arrival=ticket.number,
    )


def paced(ticket: Ticket, now: Moment) -> int:
    """Of its wait, how long pace or tokens, not a lane, held its model up."""
    return min(ticket.model.paced_until(now.us) - ticket.paced_before_us, now.us - ticket.arrived_us)


def fair_cost(choice: Choice) -> int:
    """What a start costs its flow: the largest share it takes of any of the model's means, in µs of them."""
    model = choice.ticket.model
    lanes = model.lane.limit or model.provider.lane.limit or 1
    cost = ceil_div(model.run_times.percentile(50) or SECOND_US, lanes)
    for axis in choice.windows:
        amount = arrival_amount(model.rules.charge_rule, axis.measure, choice.ticket.ask.charge, axis.limit)
        cost = max(cost, ceil_div(amount * MINUTE_US, max(1, _per_minute(axis))))
    return cost


def _per_minute(axis: WindowAxis) -> int:
    return axis.limit * MINUTE_US // axis.length_us if axis.length_us else axis.limit


def leave_line(state: State, ticket: Ticket, now: Moment) -> None:
    """The ticket goes without having started: no trace."""
    model = ticket.model
    _leave_own(state, ticket, now)
    model.lines[ticket.ask.klass].remove(ticket)
    _forget_ticket(state, ticket)
    wake(state, model.pool, now)
    refresh(state, model)


def settle(state: State, lease: Lease, ending: Ending, actual: Actual, now: Moment) -> None:
    """Correct what was charged to what it came to. Once; a second settle changes nothing."""
    if lease.settled:
        return
    lease.settled = True
    if ending is Ending.UNSENT:
        _forget_charges(state, lease)
    else:
        _correct_charges(lease, ending, actual, now)
    wake(state, lease.model.pool, now)


def release(state: State, lease: Lease, now: Moment, *, ran: bool) -> None:
    """Give every place back; lines that its flow's own limits held up may go on."""
    model, klass = lease.model, lease.ask.klass
    del state.leases[lease.ask.ticket_id]
    state.expiries.drop(lease)
    for lane in lease.lanes(state):
        lane.give_back(klass)
    if ran:
        model.run_times.add(now.us - lease.granted_us)
    for limiter, _ in lease.own:
        limiter.running -= 1
        unpark(state, limiter, now)
        let_rest(state, limiter, now)
    wake(state, model.pool, now)
    refresh(state, model)


def unpark(state: State, limiter: Limiter, now: Moment) -> None:
    """The own limit has room again: its lines stand in the order again (some may be parked anew)."""
    parked, limiter.parked = limiter.parked, {}
    for line in parked:
        unpark_line(state, line, now)


def unpark_line(state: State, line: Line, now: Moment) -> None:
    line.lines.unpark(line)
    model = line.head.model
    wake(state, model.pool, now)
    refresh(state, model)


def let_rest(state: State, limiter: Limiter, now: Moment) -> None:
    """Nobody uses it at the moment: in a minute there is nothing left of it to remember."""
    if not (limiter.running or limiter.waiting):
        state.resting.put(limiter.spec.key, (now.us + MINUTE_US, state.next_number()))


def drop_rested(state: State, now: Moment) -> None:
    """Own limits of which nothing is remembered any more are dropped: memory does not grow with the users ever seen."""
    while (key := state.resting.first_key()) is not None and key[0] <= now.us:
        name = state.resting.first() or ""
        state.resting.drop(name)
        limiter = state.limiters.get(name)
        if limiter is not None and limiter.is_idle(now):
            del state.limiters[name]


def _leave_own(state: State, ticket: Ticket, now: Moment) -> None:
    if not ticket.own_amounts:
        return
    line = ticket.model.lines[ticket.ask.klass].line_of(ticket.ask.flow)
    assert line is not None, "a ticket stands in a line"
    for key in ticket.own_amounts:
        state.limiters[key].leave(ticket, line)
        let_rest(state, state.limiters[key], now)


def _forget_ticket(state: State, ticket: Ticket) -> None:
    model = ticket.model
    del state.tickets[ticket.ask.ticket_id]
    state.deadlines.drop(ticket)
    state.roll.remove(ticket)
    model.provider.roll.remove(ticket)
    model.waiting -= 1


def _charge(lease: Lease, axis: WindowAxis, now: Moment) -> None:
    rule = lease.model.rules.charge_rule
    amount = arrival_amount(rule, axis.measure, lease.ask.charge, axis.limit)
    held = axis.measure in RULES[rule].produced
    lease.postings.append(axis.post(lease.number, amount, now, held=held))


def _correct_charges(lease: Lease, ending: Ending, actual: Actual, now: Moment) -> None:
    rule = lease.model.rules.charge_rule
    for posting in lease.postings:
        amount = settled_amount(rule, posting.axis.measure, ending, actual)
        if amount is not None or posting.stamp is None:
            posting.settle(posting.amount if amount is None else amount, now)
    own = _own_amount(ending, actual)
    if own is not None:
        for limiter, stamps in lease.own:
            limiter.settle(stamps, own)


def _own_amount(ending: Ending, actual: Actual) -> int | None:
    if ending is Ending.REFUSED:
        return 0
    return settled_amount(ChargeRule.RESERVE_AND_SETTLE, Measure.TOTAL_TOKENS, ending, actual)


def _forget_charges(state: State, lease: Lease) -> None:
    for posting in lease.postings:
        posting.forget()
    for limiter, stamps in lease.own:
        limiter.forget(stamps)
    model, number = lease.model, lease.number
    model.lines[lease.ask.klass].give_back(lease.ask.flow, lease.share)
    if model.turn == number:
        model.turn = lease.turns_before[0]
    if model.provider.turn == number:
        model.provider.turn = lease.turns_before[1]
    refresh(state, model)


def _arm_expiry(state: State, lease: Lease, now: Moment, *, offer: bool) -> None:
    if state.lease_us is not None:
        lease.offered = offer
        lease.expires_us = now.us + (OFFER_US if offer else state.lease_us)
        state.expiries.put(lease, (lease.expires_us, lease.number))


def _remember_conversation(state: State, choice: Choice) -> None:
    conversation = choice.ticket.ask.conversation
    if not conversation or choice.credential is None:
        return
    state.conversations.pop(conversation, None)
    state.conversations[conversation] = choice.credential.spec.id
    if len(state.conversations) > CONVERSATIONS_KEPT:
        del state.conversations[next(iter(state.conversations))]


def _try_reopening(choice: Choice, now: Moment) -> None:
    """The first start after a used-up closing is a trial: the others wait for its first byte (`reopen`) or a second."""
    model = choice.ticket.model
    for closable in (model, model.provider, choice.credential):
        if closable is not None and closable.closing is not None:
            closable.closing = _trial(closable.closing, now)


def _trial(closing: Closing, now: Moment) -> Closing | None:
    if not closing.used_up:
        return None
    return Closing(now.us + TRIAL_US, closing.reason, used_up=False)
