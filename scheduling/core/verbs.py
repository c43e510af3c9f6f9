"""The core: every verb of the scheduler as one atomic step over plain state. No clock, no await, no I/O.

A verb takes what it needs and the moment, and answers with a `Reply`: what happened to whom, and when the next thing is
due. Every verb is idempotent by ticket id and ends in the same way: what has expired goes, whoever may start starts.
Between two verbs, therefore, no head waits that could start (unless the mere passing of time lets it: `next_due_us`).
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.core import closings, door, expiry
from scheduling.core.arrange import take_over
from scheduling.core.charge import Ending
from scheduling.core.describe import describe
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Event, Granted, Left, Lost, Reply, Told
from scheduling.core.policy import pick_next
from scheduling.core.predict import predict
from scheduling.core.probe import PROBE, no_room, pick_probe
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import SchedulerSpec
from scheduling.core.starts import leave_line, paced, release, settle, start
from scheduling.core.state import State, Ticket
from scheduling.core.tickets import Actual, Ask, Closure, Selection, TargetRef
from scheduling.core.times import AT_LEAST_US, tell_capacity


class Core:
    """`lease_us` None: leases do not expire (their holder lives and dies with this core). `offers`: a grant has to be
    acknowledged within 2 s, or it is undone without a trace."""

    def __init__(self, spec: SchedulerSpec, now: Moment, *, lease_us: int | None = None, offers: bool = False) -> None:
        self.state = State(spec, lease_us=lease_us)
        self.offers = offers and lease_us is not None
        take_over(self.state, spec, now)

    def configure(self, spec: SchedulerSpec, now: Moment) -> Reply:
        """Take over another configuration: it acts on those who wait at once, running ones run on."""
        take_over(self.state, spec, now)
        return self._finish(expiry.after_configure(self.state, now), now)

    def line_up(self, ask: Ask, now: Moment) -> Reply:
        """Start, wait or be refused. A ticket id that is known already changes nothing."""
        if ask.ticket_id in self.state.tickets or ask.ticket_id in self.state.leases:
            return self._finish([], now)
        model = self.state.models.get(ask.model)
        if model is None or model.provider.rules is None or ask.model not in model.provider.spec.models:
            return self._finish([door.profile_missing(ask)], now)
        events = self._pump(now)
        number = self.state.next_number() if ask.arrival is None else ask.arrival
        ticket = Ticket(ask, model, number, now.us if ask.arrived_us is None else ask.arrived_us)
        ticket.deadline_us = door.deadline_us(ticket)
        if ask.purpose == PROBE:
            return self._finish([*events, self._probe(ticket, now)], now)
        refusal = door.refusal_before_line(self.state, ticket, now)
        if refusal is not None:
            return self._finish([*events, refusal], now)
        door.enter_line(self.state, ticket, now)
        return self._finish([*events, *self._through_the_door(ticket, now)], now)

    def cancel(self, ticket_id: str, now: Moment) -> Reply:
        """Its waiter has gone: a waiting ticket goes without a trace; one that runs meanwhile was never sent."""
        ticket = self.state.tickets.get(ticket_id)
        if ticket is not None:
            leave_line(self.state, ticket, now)
            return self._finish([], now)
        return self.release(ticket_id, Ending.UNSENT, Actual(), now)

    def expel(self, selection: Selection, code: Code, now: Moment) -> Reply:
        """Send away all who wait and all who run that are meant (a revoked token, an admin's cancel)."""
        events: list[Event] = []
        for ticket in [one for one in self.state.tickets.values() if selection.names(one.ask)]:
            queue_us = now.us - ticket.arrived_us
            pace_us = min(paced(ticket, now), queue_us)
            told = Told(retry_after_us=AT_LEAST_US, estimate=True, queue_us=queue_us, pace_us=pace_us)
            leave_line(self.state, ticket, now)
            events.append(Left(ticket.ask.ticket_id, code, told))
        events += [Lost(one.ask.ticket_id) for one in self.state.leases.values() if selection.names(one.ask)]
        return self._finish(events, now)

    def settle(self, ticket_id: str, ending: Ending, actual: Actual, now: Moment) -> Reply:
        """Correct what was charged, the place is kept. The first settle counts."""
        lease = self.state.leases.get(ticket_id)
        if lease is not None:
            settle(self.state, lease, ending, actual, now)
        return self._finish([], now)

    def release(self, ticket_id: str, ending: Ending, actual: Actual, now: Moment) -> Reply:
        """Settle if that was not done yet, and give every place back."""
        lease = self.state.leases.get(ticket_id)
        if lease is not None:
            settle(self.state, lease, ending, actual, now)
            release(self.state, lease, now, ran=ending is Ending.SERVED)
        return self._finish([], now)

    def acknowledge(self, ticket_ids: Iterable[str], now: Moment) -> Reply:
        """The offers arrived: they are leases from now on."""
        expiry.acknowledge(self.state, ticket_ids, now)
        return self._finish([], now)

    def renew(self, holder: str, ticket_ids: Iterable[str], now: Moment) -> Reply:
        """The holder names all leases it holds; those of its own that it does not name are released."""
        expiry.renew(self.state, holder, set(ticket_ids), now)
        return self._finish([], now)

    def pump(self, now: Moment) -> Reply:
        """Do what is due by time. Calling it too often does no harm."""
        return self._finish([], now)

    def close(self, closure: Closure, now: Moment) -> Reply:
        """Nothing starts on the target before the closure's end; a later end rules, an earlier one changes nothing."""
        return self._finish(closings.close(self.state, closure, now), now)

    def reopen(self, target: TargetRef, now: Moment) -> Reply:
        closings.reopen(self.state, target, now)
        return self._finish([], now)

    def snapshot(self, now: Moment) -> QueueSnapshot:
        """The picture of it all. Costs a look ahead: for pages, not for the hot path."""
        return describe(self.state, now)

    def predict(self, ticket_ids: Iterable[str], now: Moment) -> dict[str, int]:
        """Ticket id → monotonic µs of its predicted start; missing where it cannot be told."""
        wanted = set(ticket_ids)
        starts = predict(self.state, now, wanted)
        return {ticket_id: starts[ticket_id] for ticket_id in wanted if ticket_id in starts}

    def _probe(self, ticket: Ticket, now: Moment) -> Event:
        choice = pick_probe(self.state, ticket, now)
        if choice is None:
            return no_room(ticket)
        door.enter_line(self.state, ticket, now)
        return start(self.state, choice, now, offer=self.offers)

    def _through_the_door(self, ticket: Ticket, now: Moment) -> list[Event]:
        """It stands in line: is there a place for it, or does it start anyway?"""
        choice = pick_next(self.state, now)
        can_start = choice is not None and choice.ticket is ticket
        verdict = door.who_should_go(self.state, ticket, can_start=can_start)
        if verdict is None:
            return []
        leaver, refusal = verdict
        code = refusal if leaver is ticket else Code.QUEUE_EVICTED
        relay = refusal is Code.GATEWAY_OVERLOADED
        queue_us = now.us - leaver.arrived_us
        told = tell_capacity(self.state, leaver, now, relay=relay, queue_us=queue_us)
        leave_line(self.state, leaver, now)
        return [Left(leaver.ask.ticket_id, code, told)]

    def _finish(self, events: list[Event], now: Moment) -> Reply:
        events = events + self._pump(now)
        self.state.version += 1
        return Reply(tuple(events), expiry.next_due_us(self.state), self.state.version)

    def _pump(self, now: Moment) -> list[Event]:
        events = expiry.expire(self.state, now)
        events += self._starts(now)
        left = expiry.time_out(self.state, now)
        # Who gave up may have pinned what another only waited for: nobody else would wake that one in time.
        return events + left + (self._starts(now) if left else [])

    def _starts(self, now: Moment) -> list[Granted]:
        started = []
        while (choice := pick_next(self.state, now)) is not None:
            started.append(start(self.state, choice, now, offer=self.offers))
        return started
