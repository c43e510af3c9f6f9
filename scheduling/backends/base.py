"""The protocol of verbs. A backend keeps the state and decides; it knows no waiters.

Every reply - to one's own verb, or pushed because another process gave something back - goes to `deliver`, as a `Reply`
of plain values. A verb that is not a coroutine function may be called from a `finally` of a cancelled task: it acts at
once, or hands itself to a task that the backend owns and awaits in `close`. All verbs are idempotent by ticket id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from scheduling.core.charge import Ending
from scheduling.core.outcomes import Code, Reply
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import SchedulerSpec
from scheduling.core.tickets import Actual, Ask, Closure, Selection, TargetRef

Deliver = Callable[[Reply], None]


class Backend(Protocol):
    renew_every_us: int | None
    """How often a holder names its leases; None = leases do not expire."""
    offers: bool
    """Grants are offers, to be acknowledged within 2 s."""

    async def open(self, deliver: Deliver) -> None: ...

    async def close(self) -> None: ...

    async def line_up(self, ask: Ask) -> None:
        """Start, wait or be refused; delivered before this returns. Raises `StoreAway`."""

    def cancel(self, ticket_id: str) -> None:
        """Its waiter has gone: no trace stays, wherever the ticket is."""

    def settle(self, ticket_id: str, ending: Ending, actual: Actual) -> None: ...

    def release(self, ticket_id: str, ending: Ending, actual: Actual) -> None: ...

    def acknowledge(self, ticket_ids: Iterable[str]) -> None: ...

    def renew(self, holder: str, ticket_ids: Iterable[str]) -> None: ...

    def pump(self) -> None:
        """Do what is due by time (`Reply.next_due_us`)."""

    def configure(self, spec: SchedulerSpec) -> None: ...

    def expel(self, selection: Selection, code: Code) -> None: ...

    def close_target(self, closure: Closure) -> None: ...

    def reopen_target(self, target: TargetRef) -> None: ...

    def snapshot(self) -> QueueSnapshot: ...

    def predict(self, ticket_ids: Iterable[str]) -> dict[str, int]:
        """Ticket id → monotonic µs of its predicted start; missing where it cannot be told."""
