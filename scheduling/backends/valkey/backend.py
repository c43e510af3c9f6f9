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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

import structlog

from scheduling.backends.base import Deliver
from scheduling.backends.valkey import wire
from scheduling.backends.valkey.attendance import LEASE_US, Attendance
from scheduling.backends.valkey.epoch import EpochKeeper
from scheduling.backends.valkey.holding import Holding
from scheduling.backends.valkey.layout import Message, lay_out
from scheduling.backends.valkey.library import Library, library
from scheduling.backends.valkey.link import Link, LinkDown
from scheduling.backends.valkey.pictures import Pictures
from scheduling.backends.valkey.sender import RETRY_S, Sender, State, Verb
from scheduling.clock import SECOND_US, Clock
from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Event, Granted, Lost, Reply
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import SchedulerSpec
from scheduling.core.tickets import Actual, Ask, Closure, Selection, TargetRef
from scheduling.timers import Alarm

log = structlog.get_logger(__name__)

POLL_US: Final = SECOND_US // 2


class ValkeyBackend:
    """`url`: as redis-py reads it. `namespace`: whoever shares the store shares it (the hash tag of all keys).

    `told_clock`: for tests; the store believes this process's clock instead of its own."""

    renew_every_us: int | None = LEASE_US // 4
    offers = True

    def __init__(
        self,
        url: str,
        clock: Clock,
        keeper: EpochKeeper,
        *,
        namespace: str = "relay",
        told_clock: bool = False,
        built: Library | None = None,
    ) -> None:
        self.box = uuid.uuid4().hex
        self._clock = clock
        self._told_clock = told_clock
        self._link = Link(url, namespace, built or library(told_clock=told_clock))
        self._attendance = Attendance(self._link, keeper, clock, self.box)
        self._sender = Sender(self._link, clock, self._come_up, self._answered)
        self._holding = Holding(self.box)
        self._pictures = Pictures(self._link, clock, self._redraw)
        self._spec: SchedulerSpec | None = None
        self._deliver: Deliver = _nobody_listens
        self._next_poll = Alarm(clock, self._poll)
        self._polling: asyncio.Future[None] | None = None
        self._last = Reply((), None, 0)
        self._others: list[asyncio.Task[None]] = []

    @property
    def trouble(self) -> str:
        """Why nothing can start now, in words; empty when all is well."""
        return self._sender.trouble

    async def open(self, deliver: Deliver) -> None:
        """A store that is away is tried again and again; verbs fail meanwhile. Raises `OtherSchema`."""
        self._deliver = deliver
        await self._sender.come_up(strictly=True)
        self._sending = asyncio.create_task(self._sender.run())
        self._others = [asyncio.create_task(self._listen()), asyncio.create_task(self._attendance.stay())]
        self._poll()

    async def close(self) -> None:
        self._next_poll.set(None)
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
        running = self._holding.running.get(ticket_id)
        if running is not None:
            running.settled = True
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
        self._poll()

    def configure(self, spec: SchedulerSpec) -> None:
        self._spec = spec
        self._put("configure", lambda: {"spec": self._laid_out(spec)}, must=False)

    def expel(self, selection: Selection, code: Code) -> None:
        self._put("expel", lambda: wire.selection_message(selection, code))

    def close_target(self, closure: Closure) -> None:
        self._holding.closed(closure)
        self._put("close", lambda: wire.closure_message(closure, self._now()))

    def reopen_target(self, target: TargetRef) -> None:
        self._holding.reopened(target)
        self._put("reopen", lambda: {"target": wire.target_message(target)})

    def snapshot(self) -> QueueSnapshot:
        """The latest picture, told for now. It is renewed at most four times a second, while somebody looks."""
        return self._pictures.snapshot()

    def predict(self, ticket_ids: Iterable[str]) -> dict[str, int]:
        return self._pictures.predict(ticket_ids)

    async def quiet(self) -> None:
        """Until no verb is on its way, and the picture is of the latest change."""
        await self._sender.quiet()
        await self._pictures.fresh()

    def _now(self) -> Moment:
        return Moment(self._clock.now_us(), self._clock.wall_us())

    def _laid_out(self, spec: SchedulerSpec) -> Message:
        return lay_out(spec, self._clock.wall_us())

    def _put(
        self, name: str, message: Callable[[], Message], *, must: bool = True, done: asyncio.Future[None] | None = None
    ) -> None:
        self._sender.put(Verb(name, lambda: self._signed(message()), must, done))

    def _signed(self, message: Message) -> Message:
        message["box"] = self.box
        if self._told_clock:
            message["now"] = list(self._now())
        return message

    def _put_ask(self, ask: Ask, done: asyncio.Future[None] | None = None) -> None:
        self._put("line_up", lambda: {"ask": wire.ask_message(ask, self._now(), self.box)}, must=False, done=done)

    def _poll(self) -> None:
        """Mail, what is due, a sign of life; one at a time."""
        self._next_poll.set(self._clock.now_us() + POLL_US)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.get_running_loop().create_future()
            self._polling.add_done_callback(_heed_nothing)
            self._put("poll", dict, must=False, done=self._polling)

    def _answered(self, verb: Verb, message: Message) -> None:
        if message.get("unknown"):
            self._sender.break_off("it took this process for dead")
        self._take(message)

    def _take(self, message: Message) -> None:
        now = self._now()
        shift = wire.Shift.between(message, now)
        events = tuple(event for one in message["events"] for event in self._events(one, shift, now))
        due_us = message.get("due_us")
        self._last = Reply(events, None if due_us is None else due_us + shift.us, message["version"])
        self._pictures.changed(message["version"], shift)
        self._deliver(self._last)

    def _redraw(self) -> None:
        """There is another picture: whoever shows it looks again."""
        self._deliver(replace(self._last, events=()))

    def _events(self, message: Message, shift: wire.Shift, now: Moment) -> Iterator[Event]:
        """The event as the coordinator gets it; none if it is no news, or is dealt with here."""
        if "unknown" in message:
            self._line_up_again(message["unknown"])
            return
        event = wire.event_of(message, shift, now.wall_us)
        if isinstance(event, Granted):
            if self._holding.granted(event, message["charges"], now):
                yield event
        elif isinstance(event, Lost) and event.ticket_id in self._holding.waiting:
            self._line_up_again(event.ticket_id, message.get("arrival"))  # an offer that was never heard of
        else:
            self._holding.gone(event.ticket_id)
            yield event

    def _line_up_again(self, ticket_id: str, arrival: int | None = None) -> None:
        """The store does not know it (any more): at its place, if that is known."""
        ask = self._holding.waiting.get(ticket_id)
        if ask is not None:
            self._put_ask(ask if arrival is None else replace(ask, arrival=arrival))

    async def _come_up(self) -> None:
        """Connect, and say what is held to a store that may not know it."""
        run_id = await self._link.connect()
        epoch = await self._attendance.found(self._signed)
        if self._spec is not None:
            self._take(await self._link.call("configure", self._signed({"spec": self._laid_out(self._spec)})))
        self._take(await self._link.call("announce", self._signed(self._holding.announcement(run_id, self._now()))))
        if epoch != self._holding.epoch:
            for closure in self._holding.closures(self._now()):
                self._take(await self._link.call("close", self._signed(wire.closure_message(closure, self._now()))))
        self._holding.epoch = epoch

    async def _listen(self) -> None:
        while True:
            try:
                async for _ in self._link.nudges(self.box):
                    self._poll()
            except LinkDown as error:
                log.info("not_nudged", trouble=str(error))
            await self._clock.sleep(RETRY_S)


async def _stop(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _heed_nothing(done: asyncio.Future[None]) -> None:
    """A poll that failed is followed by another."""
    if not done.cancelled():
        done.exception()


def _nobody_listens(reply: Reply) -> None:
    """Before `open` and after `close` there are no waiters to tell."""
