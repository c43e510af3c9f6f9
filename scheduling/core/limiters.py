"""A user's, token's or team's own limits.

They do not space: a minute that is used up is refused at the door, at once. What stands in line is held against the
minute until it starts or goes, so that starts never exceed the limit in any minute, wherever cut. Their own concurrency
parks at most two tickets in a line; a parked line pins nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scheduling.core.moment import FAR_US, MINUTE_US, Moment
from scheduling.core.spec import FlowSpec
from scheduling.core.windows import SlidingWindow

if TYPE_CHECKING:
    from scheduling.core.lines import Line
    from scheduling.core.state import Ticket

PARKED_AT_MOST: Final = 2


@dataclass(frozen=True, slots=True)
class Reached:
    """Why the own limit refuses."""

    limit_name: str  # rpm | tpm | concurrency
    limit: int
    until_us: int | None  # None = when one of its own ends
    permanent: bool = False  # larger than the limit on its own


@dataclass(slots=True)
class OwnStamps:
    """Where a start was entered in a limiter's minutes, to be corrected at settle."""

    requests: int
    tokens: int
    amount: int


class Limiter:
    __slots__ = ("_requests", "_tokens", "parked", "running", "spec", "waiting")

    def __init__(self, spec: FlowSpec) -> None:
        self.spec = spec
        self.running = 0
        self.waiting: dict[Line, int] = {}
        self.parked: dict[Line, None] = {}  # lines held up by this limit, in the order of parking
        self._requests = SlidingWindow(MINUTE_US)
        self._tokens = SlidingWindow(MINUTE_US)

    @property
    def is_full(self) -> bool:
        return self.spec.concurrency is not None and self.running >= self.spec.concurrency

    def is_idle(self, now: Moment) -> bool:
        """Nothing is remembered: the limiter may be dropped and made anew."""
        return not (self.running or self.waiting or self._requests.used(now) or self._tokens.used(now))

    def amount(self, ticket: Ticket) -> int:
        """Own tokens: prompt and cap, corrected at settle. A guessed cap fills the limit at most."""
        charge = ticket.ask.charge
        total = charge.prompt_tokens + charge.cap_tokens
        if self.spec.tpm is None or charge.cap_is_callers:
            return total
        return min(total, max(self.spec.tpm, charge.prompt_tokens))

    def reached(self, ticket: Ticket, line: Line | None, now: Moment) -> Reached | None:
        """Whether the limit refuses this ticket at the door."""
        spec, amount = self.spec, self.amount(ticket)
        if spec.tpm is not None and amount > spec.tpm:
            return Reached("tpm", spec.tpm, None, permanent=True)
        if spec.rpm is not None and (until_us := self._requests.earliest(1, spec.rpm, now)) > now.us:
            return Reached("rpm", spec.rpm, _known(until_us))
        if spec.tpm is not None and (until_us := self._tokens.earliest(amount, spec.tpm, now)) > now.us:
            return Reached("tpm", spec.tpm, _known(until_us))
        if spec.concurrency is not None:
            waiting = self.waiting.get(line, 0) if line is not None else 0
            if self.running + waiting >= spec.concurrency + PARKED_AT_MOST:
                return Reached("concurrency", spec.concurrency, None)
        return None

    def enter(self, ticket: Ticket, line: Line) -> None:
        self.waiting[line] = self.waiting.get(line, 0) + 1
        self._requests.held += 1
        self._tokens.held += self.amount_held(ticket)

    def leave(self, ticket: Ticket, line: Line) -> None:
        """It stands in line no more: it starts, or goes without a trace."""
        left = self.waiting[line] - 1
        if left:
            self.waiting[line] = left
        else:
            del self.waiting[line]
        self._requests.held -= 1
        self._tokens.held -= self.amount_held(ticket)

    def start(self, ticket: Ticket, now: Moment) -> OwnStamps:
        self.running += 1
        amount = self.amount_held(ticket)
        return OwnStamps(self._requests.add(1, now), self._tokens.add(amount, now), amount)

    def settle(self, stamps: OwnStamps, amount: int) -> None:
        self._tokens.adjust(stamps.tokens, amount - stamps.amount)
        stamps.amount = amount

    def forget(self, stamps: OwnStamps) -> None:
        self._requests.adjust(stamps.requests, -1)
        self._tokens.adjust(stamps.tokens, -stamps.amount)

    def copy(self) -> Limiter:
        """For a look ahead: what has started, without those in line (they enter the copy's own lines)."""
        twin = Limiter(self.spec)
        twin.running = self.running
        twin._requests, twin._tokens = self._requests.copy(), self._tokens.copy()
        twin._requests.held = twin._tokens.held = 0
        return twin

    def amount_held(self, ticket: Ticket) -> int:
        """What was decided at the door: a limit that changes meanwhile does not change what is given back."""
        return ticket.own_amounts[self.spec.key]


def _known(until_us: int) -> int | None:
    return until_us if until_us < FAR_US else None
