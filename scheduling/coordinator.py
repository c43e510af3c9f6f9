"""When and where a request may run: `async with coordinator.admit(ask) as lease`.

The coordinator owns the waiters and the timers of this process; the backend owns the state and decides. Whatever the
backend reports - in answer to a verb of ours, or pushed - comes in through `_deliver`: a waiter is woken, a lease is
lost, the timer for the next due thing is set. A grant whose waiter has gone is given back at once, so it passes on.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

from scheduling.backends.base import Backend
from scheduling.clock import Clock
from scheduling.core.charge import Ending
from scheduling.core.outcomes import Code, Granted, Left, Lost, Reply
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import SchedulerSpec
from scheduling.core.tickets import Actual, Ask, Closure, Selection, TargetRef
from scheduling.errors import EXCEPTION_OF, StoreAway
from scheduling.leases import Lease
from scheduling.timers import Alarm
from scheduling.watching import Waiting, Watch, Watchers

__all__ = ["Coordinator", "Lease", "Waiting"]

Outcome = Lease | Left


class Coordinator:
    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._holder = uuid.uuid4().hex
        self._waiters: dict[str, asyncio.Future[Outcome]] = {}
        self._leases: dict[str, Lease] = {}
        self._watchers = Watchers(clock, backend.snapshot)
        self._listeners: list[Callable[[], None]] = []
        self._due = Alarm(clock, backend.pump)
        self._renewal = Alarm(clock, self._renew)
        self._draining = False

    async def start(self) -> None:
        await self._backend.open(self._deliver)

    async def close(self) -> None:
        """Stop all timers; whoever still waits is told that the relay goes down."""
        self.drain()
        self._due.set(None)
        self._renewal.set(None)
        self._watchers.close()
        await self._backend.close()

    def configure(self, spec: SchedulerSpec) -> None:
        """Take over another configuration; it acts on those who wait at once."""
        self._backend.configure(spec)

    def drain(self) -> None:
        """Going down: new ones and those in line are told so at once (`relay_draining`), those who run go on."""
        self._draining = True
        for waiter in self._waiters.values():
            if not waiter.done():
                waiter.set_exception(StoreAway(code="relay_draining"))

    async def acquire(self, ask: Ask, watch: Watch | None = None) -> Lease:
        """Wait in line for a place on every lane. Raises a `Rejection`; the caller owns the lease and releases it.

        `watch` is called at once if the ticket has to wait, and again when its place or prospects change."""
        if self._draining:
            raise StoreAway(code="relay_draining", provider=ask.provider, model=ask.model)
        if ask.ticket_id in self._waiters or ask.ticket_id in self._leases:
            raise ValueError(f"ticket {ask.ticket_id} is in use")
        waiter: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiters[ask.ticket_id] = waiter
        try:
            await self._backend.line_up(replace(ask, holder=self._holder))
            if watch is not None and not waiter.done():
                self._watchers.add(ask.ticket_id, watch)
            outcome = await waiter
        except BaseException:  # whatever ends the wait, cancellation too, the place must not stay behind
            self._abandon(ask.ticket_id)
            raise
        finally:
            self._waiters.pop(ask.ticket_id, None)
            self._watchers.drop(ask.ticket_id)
        if isinstance(outcome, Lease):
            return outcome
        raise EXCEPTION_OF[outcome.code](outcome.told, code=outcome.code, provider=ask.provider, model=ask.model)

    @asynccontextmanager
    async def admit(self, ask: Ask, watch: Watch | None = None) -> AsyncIterator[Lease]:
        """`acquire`, and `release` at the end whatever happens."""
        lease = await self.acquire(ask, watch)
        try:
            yield lease
        finally:
            lease.release()

    def snapshot(self) -> QueueSnapshot:
        return self._backend.snapshot()

    def predicted(self, ticket_ids: Iterable[str]) -> dict[str, int]:
        """Ticket id → monotonic µs of its predicted start; missing where it cannot be told."""
        return self._backend.predict(ticket_ids)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, synchronously, on every change; drawing less often is the page's affair. Returns how to stop."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    async def cancel(self, ticket_id: str) -> None:
        """An admin takes a ticket out: its caller gets `Evicted` (`ticket_cancelled`); its lease, if any, is lost."""
        self._backend.expel(Selection(ticket_ids=frozenset({ticket_id})), Code.TICKET_CANCELLED)

    async def withdraw(self, key: str) -> None:
        """The same for all tickets of a user, token or team (a revoked token): by `flow` or one of the `limits`."""
        self._backend.expel(Selection(key=key), Code.TICKET_CANCELLED)

    def close_target(self, closure: Closure) -> None:
        """Nothing starts on that model, credential group or provider before the closure's end."""
        self._backend.close_target(closure)

    def reopen_target(self, target: TargetRef) -> None:
        self._backend.reopen_target(target)

    def _abandon(self, ticket_id: str) -> None:
        lease = self._leases.get(ticket_id)
        if lease is None:
            self._backend.cancel(ticket_id)
        else:
            lease.settle(ending=Ending.UNSENT)
            lease.release()

    def _deliver(self, reply: Reply) -> None:
        self._due.set(reply.next_due_us)
        for event in reply.events:
            if isinstance(event, Granted):
                self._granted(event)
            elif isinstance(event, Left):
                self._wake(event.ticket_id, event)
            else:
                self._lost(event)
        self._watchers.changed()
        for listener in tuple(self._listeners):
            listener()

    def _granted(self, grant: Granted) -> None:
        if grant.ticket_id not in self._waiters:
            self._backend.cancel(grant.ticket_id)
            return
        lease = Lease(grant, self._backend.settle, self._give_back)
        self._leases[grant.ticket_id] = lease
        if self._backend.offers:
            self._backend.acknowledge([grant.ticket_id])
        self._keep_renewed()
        self._wake(grant.ticket_id, lease)

    def _wake(self, ticket_id: str, outcome: Outcome) -> None:
        waiter = self._waiters.get(ticket_id)
        if waiter is not None and not waiter.done():
            waiter.set_result(outcome)

    def _lost(self, event: Lost) -> None:
        lease = self._leases.get(event.ticket_id)
        if lease is not None:
            lease.take_away()

    def _give_back(self, ticket_id: str, ending: Ending, actual: Actual) -> None:
        self._leases.pop(ticket_id, None)
        self._backend.release(ticket_id, ending, actual)

    def _keep_renewed(self) -> None:
        every_us = self._backend.renew_every_us
        if every_us is not None and self._leases and not self._renewal.is_set:
            self._renewal.set(self._clock.now_us() + every_us)

    def _renew(self) -> None:
        self._backend.renew(self._holder, list(self._leases))
        self._keep_renewed()
