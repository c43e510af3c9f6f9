"""The core in this process. Every verb acts at once: one event loop, no await inside, so each is atomic.

Leases need no expiry here, for whoever holds them lives and dies with the state; `lease_us` gives them one for tests of
what other backends do.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.backends.base import Deliver
from scheduling.clock import Clock
from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Reply
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import RelaySpec, SchedulerSpec
from scheduling.core.tickets import Actual, Ask, Closure, Selection, TargetRef
from scheduling.core.verbs import Core

NOTHING_CONFIGURED = SchedulerSpec(version=0, relay=RelaySpec(), providers={})


class MemoryBackend:
    def __init__(self, clock: Clock, *, lease_us: int | None = None, offers: bool = False) -> None:
        self.renew_every_us = None if lease_us is None else lease_us // 4
        self.offers = offers
        self._clock = clock
        self._core = Core(NOTHING_CONFIGURED, self._now(), lease_us=lease_us, offers=offers)
        self._deliver: Deliver = _nobody_listens

    async def open(self, deliver: Deliver) -> None:
        self._deliver = deliver

    async def close(self) -> None:
        self._deliver = _nobody_listens

    async def line_up(self, ask: Ask) -> None:
        self._deliver(self._core.line_up(ask, self._now()))

    def cancel(self, ticket_id: str) -> None:
        self._deliver(self._core.cancel(ticket_id, self._now()))

    def settle(self, ticket_id: str, ending: Ending, actual: Actual) -> None:
        self._deliver(self._core.settle(ticket_id, ending, actual, self._now()))

    def release(self, ticket_id: str, ending: Ending, actual: Actual) -> None:
        self._deliver(self._core.release(ticket_id, ending, actual, self._now()))

    def acknowledge(self, ticket_ids: Iterable[str]) -> None:
        self._deliver(self._core.acknowledge(ticket_ids, self._now()))

    def renew(self, holder: str, ticket_ids: Iterable[str]) -> None:
        self._deliver(self._core.renew(holder, ticket_ids, self._now()))

    def pump(self) -> None:
        self._deliver(self._core.pump(self._now()))

    def configure(self, spec: SchedulerSpec) -> None:
        self._deliver(self._core.configure(spec, self._now()))

    def expel(self, selection: Selection, code: Code) -> None:
        self._deliver(self._core.expel(selection, code, self._now()))

    def close_target(self, closure: Closure) -> None:
        self._deliver(self._core.close(closure, self._now()))

    def reopen_target(self, target: TargetRef) -> None:
        self._deliver(self._core.reopen(target, self._now()))

    def snapshot(self) -> QueueSnapshot:
        return self._core.snapshot(self._now())

    def predict(self, ticket_ids: Iterable[str]) -> dict[str, int]:
        return self._core.predict(ticket_ids, self._now())

    def _now(self) -> Moment:
        return Moment(self._clock.now_us(), self._clock.wall_us())


def _nobody_listens(reply: Reply) -> None:
    """Before `open` and after `close` there are no waiters to tell."""
