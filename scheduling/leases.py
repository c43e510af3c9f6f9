"""A held place on the lanes. Given back once, by whoever holds it, whatever happened meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from scheduling.core.charge import Ending
from scheduling.core.outcomes import Granted
from scheduling.core.spec import LaneRules
from scheduling.core.tickets import Actual

GiveBack = Callable[[str, Ending, Actual], None]


class Lease:
    """`settle` and `release` are synchronous and idempotent: they may stand in the `finally` of a cancelled task."""

    def __init__(self, grant: Granted, settle: GiveBack, release: GiveBack) -> None:
        self._grant = grant
        self._settle, self._release = settle, release
        self._ending: Ending | None = None
        self._released = False
        self._lost = False
        self._on_lost: list[Callable[[], None]] = []

    @property
    def ticket_id(self) -> str:
        return self._grant.ticket_id

    @property
    def provider(self) -> str:
        return self._grant.provider

    @property
    def model(self) -> str:
        return self._grant.model

    @property
    def credential_id(self) -> str | None:
        return self._grant.credential_id

    @property
    def rules(self) -> LaneRules:
        """The lane rules in force when it was granted."""
        return self._grant.rules

    @property
    def granted_us(self) -> int:
        return self._grant.granted_us

    @property
    def queue_us(self) -> int:
        return self._grant.queue_us

    @property
    def pace_us(self) -> int:
        """Of `queue_us`, how long pace or tokens, not a lane, held it up."""
        return self._grant.pace_us

    @property
    def arrival(self) -> int:
        """Its arrival number: given to the next `Ask` of a request that re-enters (`Ask.arrival`)."""
        return self._grant.arrival

    @property
    def is_lost(self) -> bool:
        return self._lost

    def settle(self, actual: Actual | None = None, ending: Ending = Ending.SERVED) -> None:
        """Correct what was charged to what it came to, by the provider's charge rule. Only the first settle counts.

        `Ending.REFUSED`: the provider said no. `FAILED`: failed, cut or cancelled after sending. `UNSENT`: no trace."""
        if self._ending is None and not self._released:
            self._ending = ending
            self._settle(self.ticket_id, ending, actual or Actual())

    def release(self, actual: Actual | None = None, ending: Ending = Ending.FAILED) -> None:
        """Give every place back. What was not settled before is settled with it, in the same step; by default as
        failed: what was charged at arrival stays."""
        if not self._released:
            self._released = True
            self._release(self.ticket_id, self._ending or ending, actual or Actual())

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Called once if the lease is taken away (reaped, token revoked): stop the call at once. Release it as ever."""
        if self._lost:
            callback()
        else:
            self._on_lost.append(callback)

    def take_away(self) -> None:
        """For the coordinator: this lease is no longer held."""
        self._lost = True
        callbacks, self._on_lost = self._on_lost, []
        for callback in callbacks:
            callback()
