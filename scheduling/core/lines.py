"""Lines: who waits, and whose turn it is.

All lines of one model and class stand in `Lines`; a line is one flow's. Within a line first come, first served.
Between lines **fair share by virtual time** (start-time fair queueing with the virtual clock of WF2Q+: Bennett and
Zhang 1996): a line's tag is the cost of what it has started, over its weight; the smallest tag goes next, ties by
arrival number. The clock V is the tag of the latest start, or further on if the fluid share is: with every start it
goes on by the cost of the one before over the weights waiting. A flow that was idle re-enters at V: nobody saves up
turns, and nobody is passed for ever by newcomers.

Bound: for two flows f and g that both wait throughout, however long, the served costs Wf/wf and Wg/wg differ by at most
cf/wf + cg/wg, where c is the largest cost of one request. (A tag only grows while it is the smallest.)

Only heads are looked at, so picking the next does not grow with the length of the lines.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scheduling.core.moment import SECOND_US, ceil_div
from scheduling.core.order import Key, Order

if TYPE_CHECKING:
    from scheduling.core.limiters import Limiter
    from scheduling.core.state import Ticket


class Line:
    """One flow's waiting tickets of one model and class, in order of arrival (re-entered ones first)."""

    __slots__ = ("flow", "lines", "parked", "parked_on", "tag", "tickets", "weight")

    def __init__(self, lines: Lines, flow: str, weight: int, tag: int) -> None:
        self.lines = lines
        self.flow = flow
        self.weight = weight
        self.tag = tag
        self.tickets: list[tuple[Key, Ticket]] = []
        self.parked = False  # it waits for something that is its own alone
        self.parked_on: Limiter | None = None

    @property
    def head(self) -> Ticket:
        return self.tickets[0][1]


class Lines:
    __slots__ = ("_by_flow", "_clock", "_idle", "_last_cost", "_marks", "_order", "_served", "_weights", "fair")

    def __init__(self, *, fair: bool) -> None:
        self.fair = fair  # False: plain first come, first served
        self._last_cost = SECOND_US
        self._marks = 0  # numbers the idle flows, so that their order hangs on nothing else
        self._by_flow: dict[str, Line] = {}
        self._order: Order[Line] = Order()  # lines that are not parked
        self._idle: Order[str] = Order()  # flows without a line whose tag is still ahead of the clock
        self._clock = 0
        self._served = 0  # what the clock goes on by when the last start has been served: at the next one
        self._weights = 0

    def __bool__(self) -> bool:
        return bool(self._order)

    @property
    def first(self) -> Line | None:
        """The line whose head goes next."""
        return self._order.first()

    def line_of(self, flow: str) -> Line | None:
        return self._by_flow.get(flow)

    def add(self, ticket: Ticket, weight: int) -> None:
        line = self._by_flow.get(ticket.ask.flow)
        if line is None:
            line = self._open(ticket.ask.flow, weight)
        insort(line.tickets, (ticket.place_key, ticket))
        self._sort(line)

    def remove(self, ticket: Ticket) -> None:
        line = self._by_flow[ticket.ask.flow]
        del line.tickets[bisect_left(line.tickets, (ticket.place_key,))]
        if line.tickets:
            self._sort(line)
        else:
            self._close(line)

    def charge(self, ticket: Ticket, cost: int) -> int:
        """`ticket` starts: take it out, charge its flow, move the clock. Returns what its tag grew by."""
        line = self._by_flow[ticket.ask.flow]
        share = ceil_div(cost, line.weight)
        self._clock = max(self._clock + self._served, line.tag)
        self._served = cost // self._weights
        self._last_cost = cost
        line.tag += share
        self.remove(ticket)
        return share

    def give_back(self, flow: str, share: int) -> None:
        """A start that was never sent costs its flow nothing."""
        line = self._by_flow.get(flow)
        if line is not None:
            line.tag = max(0, line.tag - share)
            self._sort(line)
            return
        idle = self._idle.key_of(flow)
        if idle is not None:
            self._remember(flow, idle[0] - share)

    def park(self, line: Line, limiter: Limiter | None = None) -> None:
        """Held up by something of its own only (its flow's limits): it pins nothing, the others pass."""
        line.parked, line.parked_on = True, limiter
        self._order.drop(line)

    def unpark(self, line: Line) -> None:
        line.parked, line.parked_on = False, None
        self._sort(line)

    def resort(self, *, fair: bool) -> None:
        self.fair = fair
        for line in self._by_flow.values():
            self._sort(line)

    def walk(self) -> Iterator[Ticket]:
        """All tickets in the order in which they would go, if each cost the same; parked lines last."""
        heap = [(line.parked, self._key(line), line.flow, 0) for line in self._by_flow.values()]
        heapq.heapify(heap)
        while heap:
            parked, key, flow, index = heap[0]
            tickets = self._by_flow[flow].tickets
            yield tickets[index][1]
            if index + 1 == len(tickets):
                heapq.heappop(heap)
                continue
            rank, number = tickets[index + 1][0]
            tag = key[1] + ceil_div(self._last_cost, self._by_flow[flow].weight) if self.fair else 0
            heapq.heapreplace(heap, (parked, (rank, tag, number), flow, index + 1))

    def resume(self, clock: int, served: int, last_cost: int) -> None:
        """Go on from where these lines were, as records tell it."""
        self._clock, self._served, self._last_cost = clock, served, last_cost

    def copy_shares(self, other: Lines) -> None:
        """Take over another's tags and clock, for a look ahead."""
        self._clock, self._served, self._last_cost = other._clock, other._served, other._last_cost
        for flow, line in other._by_flow.items():
            self._remember(flow, line.tag)
        for flow in other._idle:
            key = other._idle.key_of(flow)
            self._remember(flow, key[0] if key else 0)

    def _open(self, flow: str, weight: int) -> Line:
        idle = self._idle.key_of(flow)
        self._idle.drop(flow)
        line = Line(self, flow, weight, max(self._clock, idle[0] if idle else 0))
        self._by_flow[flow] = line
        self._weights += weight
        return line

    def _close(self, line: Line) -> None:
        self._order.drop(line)
        del self._by_flow[line.flow]
        self._weights -= line.weight
        if line.parked_on is not None:
            line.parked_on.parked.pop(line, None)
        if self._by_flow:
            self._remember(line.flow, line.tag)
        else:  # nobody waits: the busy period is over, all are even
            self._idle, self._clock, self._served = Order(), 0, 0

    def _remember(self, flow: str, tag: int) -> None:
        self._idle.drop(flow)
        if tag > self._clock:
            self._marks += 1
            self._idle.put(flow, (tag, self._marks))
        while (key := self._idle.first_key()) is not None and key[0] <= self._clock:
            self._idle.drop(self._idle.first() or "")

    def _sort(self, line: Line) -> None:
        if not line.parked and line.tickets:
            self._order.put(line, self._key(line))

    def _key(self, line: Line) -> Key:
        rank, number = line.tickets[0][0]
        return (rank, line.tag if self.fair else 0, number)
