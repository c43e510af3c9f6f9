"""Predicted starts: the earliest start of those in line, if nobody else arrives and running calls end as usual.

The real core on a copy of the state, run ahead on a virtual clock: what is predicted is what would happen. Looked at
are at most 50 tickets of a model, and those asked for; a call ends when half of its kind have ended (learned p50).
Computed on demand, never inside a start or a release.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from scheduling.core.charge import Ending
from scheduling.core.expiry import expire
from scheduling.core.moment import FAR_US, SECOND_US, Moment
from scheduling.core.policy import pick_next
from scheduling.core.starts import release, settle, start
from scheduling.core.state import CLASSES, Lease, ModelState, State, Ticket
from scheduling.core.tickets import Actual
from scheduling.core.times import remaining_us
from scheduling.core.twin import twin_of

LOOKED_AT: Final = 50
STEPS_AT_MOST: Final = 20_000


def predict(state: State, now: Moment, wanted: Collection[str] = ()) -> dict[str, int]:
    """Ticket id → monotonic µs of its start. Those of whom it cannot be told (unknown run times) are missing."""
    if not state.tickets:
        return {}
    kept = set(wanted)
    for model in state.models.values():
        kept.update(ticket.ask.ticket_id for ticket in islice(going_order(model), LOOKED_AT))
    return _LookAhead(twin_of(state, kept, now), now).run()


def going_order(model: ModelState) -> Iterator[Ticket]:
    """The model's waiting tickets in the order in which they would go."""
    if model.waiting:
        for klass in CLASSES:
            yield from model.lines[klass].walk()


class _LookAhead:
    def __init__(self, state: State, now: Moment) -> None:
        self._state = state
        self._now = now
        self._starts: dict[str, int] = {}
        self._ends: list[tuple[int, int, Lease]] = []
        for lease in state.leases.values():
            self._push_end(lease)

    def run(self) -> dict[str, int]:
        for _ in range(STEPS_AT_MOST):
            self._start_all()
            next_us = self._next_us()
            if not self._state.tickets or next_us is None:
                break
            self._go_to(next_us)
        return self._starts

    def _start_all(self) -> None:
        while (choice := pick_next(self._state, self._now)) is not None:
            ticket_id = choice.ticket.ask.ticket_id
            start(self._state, choice, self._now, offer=False)
            self._starts[ticket_id] = self._now.us
            self._push_end(self._state.leases[ticket_id])

    def _next_us(self) -> int | None:
        keys = (self._state.dues.first_key(), self._state.warming.first_key(), self._ends[0] if self._ends else None)
        return min((key[0] for key in keys if key is not None), default=None)

    def _go_to(self, next_us: int) -> None:
        passed_us = max(0, next_us - self._now.us)
        self._now = Moment(self._now.us + passed_us, self._now.wall_us + passed_us)
        expire(self._state, self._now)
        while self._ends and self._ends[0][0] <= self._now.us:
            _, _, lease = heapq.heappop(self._ends)
            settle(self._state, lease, Ending.SERVED, Actual(), self._now)
            release(self._state, lease, self._now, ran=False)

    def _push_end(self, lease: Lease) -> None:
        if not lease.model.run_times:
            return  # nothing is known of how long such a call takes
        left_us = remaining_us(lease, 50, self._now)
        end_us = self._now.us + (SECOND_US if left_us is None else left_us)
        if end_us < FAR_US:
            heapq.heappush(self._ends, (end_us, lease.number, lease))
