"""The coordinator's state on a Valkey server, shared by all processes: the same verbs, decided there (`lua/`).

Everything the store does to this process's tickets comes back as events: in the answer to the verb that caused it, or,
if another process's verb did, through this process's mailbox, which is emptied when nudged and twice a second anyway.
A grant is an offer until it is acknowledged. Whatever broke on the way - the line, the server, its memory - the process
then says what it holds (`announce`) and learns what became of it; so no event has to arrive for nothing to be lost.

Times: the store has its own; ages go there, differences come back (`wire.py`).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace

from scheduling.backends.base import Deliver
from scheduling.backends.valkey import wire
from scheduling.backends.valkey.attendance import LEASE_US, Attendance
from scheduling.backends.valkey.epoch import EpochKeeper
from scheduling.backends.valkey.holding import Holding
from scheduling.backends.valkey.inbox import Inbox
from scheduling.backends.valkey.layout import Message, lay_out
from scheduling.backends.valkey.library import library
from scheduling.backends.valkey.link import Link, OtherSchema
from scheduling.backends.valkey.pictures import Pictures
from scheduling.backends.valkey.rounds import Rounds
from scheduling.backends.valkey.sender import Sender, State, Verb
from scheduling.clock import Clock
from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Reply
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import SchedulerSpec
from scheduling.core.tickets import Actual, Ask, Closure, Selection, TargetRef

Done = asyncio.Future[None]


class ValkeyBackend:
    """`url`: as redis-py reads it. `namespace`: whoever names the same one shares the state (the keys' hash tag).

    `told_clock`: for tests; the store believes this process's clock instead of its own."""

    renew_every_us: int | None = LEASE_US // 4
    offers = True

    def __init__(
        self, url: str, clock: Clock, keeper: EpochKeeper, *, namespace: str = "relay", told_clock: bool = False
    ) -> None:
        self._clock = clock
        self._told_clock = told_clock
        self._link = Link(url, namespace, library(told_clock=told_clock))
        self._holding = Holding(uuid.uuid4().hex)
        self._inbox = Inbox(self._holding, self._put_ask)
        self._attendance = Attendance(self._link, keeper, clock, self._holding, self._signed)
        self._sender = Sender(self._link, clock, lambda: self._attendance.come_up(self._take), self._answered)
        self._pictures = Pictures(self._link, clock, self._redraw)
        self._rounds = Rounds(self._link, clock, lambda done: self._put("poll", dict, must=False, done=done))
        self._deliver: Deliver = _nobody_listens
        self._last = Reply((), None, 0)
        self._others: list[asyncio.Task[None]] = []

    @property
    def trouble(self) -> str:
        """Why nothing can start now, in words; empty when all is well."""
        return self._sender.trouble

    async def open(self, deliver: Deliver) -> None:
        """A store that is away is tried again and again; verbs fail meanwhile. Raises `OtherSchema`."""
        self._deliver = deliver
        try:
            await self._sender.come_up(strictly=True)
        except OtherSchema:
            await self._link.close()
            raise
        self._sending = asyncio.create_task(self._sender.run())
        others = (self._rounds.listen(self._holding.box), self._attendance.stay())
        self._others = [asyncio.create_task(work) for work in others]
        self._rounds.poll()

    async def close(self) -> None:
        self._rounds.close()
        self._pictures.close()
        await _stop(self._others)
        self._put("leave", dict, must=False)
        self._sender.finish()
        if self._sender.state is State.DOWN:
            await _stop([self._sending])
        else:
            await self._sending
            await self._attendance.leave()
        await self._link.close()
        self._deliver = _nobody_listens

    async def line_up(self, ask: Ask) -> None:
        if ask.arrived_us is None:
            ask = replace(ask, arrived_us=self._clock.now_us())
        self._holding.waiting[ask.ticket_id] = ask
        done = asyncio.get_running_loop().create_future()
        self._put_ask(ask, done)
        try:
            await done
        except BaseException:  # not taken, or nobody waits any more: it is not to be announced as waiting
            self._holding.waiting.pop(ask.ticket_id, None)
            raise

    def cancel(self, ticket_id: str) -> None:
        self._holding.gone(ticket_id)
        self._put("cancel", lambda: {"id": ticket_id})

    def settle(self, ticket_id: str, ending: Ending, actual: Actual) -> None:
        self._holding.settled(ticket_id)
        self._put("settle", lambda: wire.ending_message(ticket_id, ending, actual))

    def release(self, ticket_id: str, ending: Ending, actual: Actual) -> None:
        self._holding.gone(ticket_id)
        self._put("release", lambda: wire.ending_message(ticket_id, ending, actual))

    def acknowledge(self, ticket_ids: Iterable[str]) -> None:
        ids = list(ticket_ids)
        self._put("acknowledge", lambda: {"ids": ids}, must=False)

    def renew(self, holder: str, ticket_ids: Iterable[str]) -> None:
        ids = list(ticket_ids)
        self._put("renew", lambda: {"holder": holder, "ids": ids}, must=False)

    def pump(self) -> None:
        self._rounds.poll()

    def configure(self, spec: SchedulerSpec) -> None:
        self._attendance.spec = spec
        self._put("configure", lambda: {"spec": lay_out(spec, self._clock.wall_us())}, must=False)

    def expel(self, selection: Selection, code: Code) -> None:
        self._put("expel", lambda: wire.selection_message(selection, code))

    def close_target(self, closure: Closure) -> None:
        self._holding.closed(closure)
        self._put("close", lambda: wire.closure_message(closure, self._now()))

    def reopen_target(self, target: TargetRef) -> None:
        self._holding.reopened(target)
        self._put("reopen", lambda: {"target": wire.target_message(target)})

    def snapshot(self) -> QueueSnapshot:
        """The latest picture, told for now: at most a quarter of a second old (`pictures.py`)."""
        return self._pictures.snapshot()

    def predict(self, ticket_ids: Iterable[str]) -> dict[str, int]:
        return self._pictures.predict(ticket_ids)

    async def quiet(self) -> None:
        """Until no verb is on its way, and the picture is of the latest change."""
        await self._sender.quiet()
        await self._pictures.fresh()

    def _now(self) -> Moment:
        return Moment(self._clock.now_us(), self._clock.wall_us())

    def _put(self, name: str, message: Callable[[], Message], *, must: bool = True, done: Done | None = None) -> None:
        self._sender.put(Verb(name, lambda: self._signed(message()), must, done))

    def _signed(self, message: Message) -> Message:
        signed = {**message, "box": self._holding.box}
        return {**signed, "now": list(self._now())} if self._told_clock else signed

    def _put_ask(self, ask: Ask, done: Done | None = None) -> None:
        box = self._holding.box
        self._put("line_up", lambda: {"ask": wire.ask_message(ask, self._now(), box)}, must=False, done=done)

    def _answered(self, verb: Verb, message: Message) -> None:
        if message.get("unknown"):
            self._sender.break_off("it took this process for dead")
        self._take(message)

    def _take(self, message: Message) -> None:
        now = self._now()
        shift = wire.Shift.between(message, now)
        self._last = self._inbox.reply_of(message, shift, now)
        self._pictures.changed(self._last.version, shift)
        self._deliver(self._last)

    def _redraw(self) -> None:
        """There is another picture: whoever shows it looks again."""
        self._deliver(replace(self._last, events=()))


async def _stop(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _nobody_listens(reply: Reply) -> None:
    """Before `open` and after `close` there are no waiters to tell."""
