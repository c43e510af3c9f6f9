"""Verbs on their way to the store: in order, those of one loop tick in one round trip.

While one round trip is under way the next verbs gather. A verb that somebody waits for fails when the store is away
(`StoreAway`: fail closed). One that gives something back (`must`) stays in the queue until the store has done it: all
verbs are idempotent by ticket id, so it does no harm if it had been done before the line broke.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import structlog

from scheduling.backends.valkey.epoch import EpochUnknown
from scheduling.backends.valkey.layout import Message
from scheduling.backends.valkey.link import CallFailed, Link, LinkDown, OtherSchema
from scheduling.clock import Clock
from scheduling.errors import StoreAway

log = structlog.get_logger(__name__)

AT_ONCE: Final = 256
RETRY_S: Final = 0.25
KEPT_AT_MOST: Final = 10_000
"""Verbs that wait for the store. What is given back beyond that, the store reaps."""


@dataclass(slots=True, eq=False)
class Verb:
    name: str
    message: Callable[[], Message]
    """Made when it is sent: it tells times as so long ago."""
    must: bool = True
    done: asyncio.Future[None] | None = None


class State(enum.Enum):
    COMING = "coming"  # the first try, or the first after the line broke: verbs gather
    UP = "up"
    DOWN = "down"  # tried in vain: only what must be done is kept


class Sender:
    """`come_up` makes the link usable (and says again what is held); `answered` takes a verb's answer."""

    def __init__(
        self,
        link: Link,
        clock: Clock,
        come_up: Callable[[], Awaitable[None]],
        answered: Callable[[Verb, Message], None],
    ) -> None:
        self._link = link
        self._clock = clock
        self._come_up = come_up
        self._answered = answered
        self._queue: deque[Verb] = deque()
        self._filled = asyncio.Event()
        self._quiet = asyncio.Event()
        self._closing = False
        self.state = State.COMING
        self.trouble = ""

    def put(self, verb: Verb) -> None:
        if self._closing or (self.state is State.DOWN and not verb.must):
            _fail(verb)
            return
        if len(self._queue) >= KEPT_AT_MOST:
            _fail(self._queue.popleft())
        self._queue.append(verb)
        self._quiet.clear()
        self._filled.set()

    def break_off(self, trouble: str) -> None:
        """Come up anew before anything else is sent."""
        self.state, self.trouble = State.COMING, trouble
        log.warning("store_line_broken", trouble=trouble)

    async def quiet(self) -> None:
        """Until nothing is on its way."""
        await self._quiet.wait()

    async def run(self) -> None:
        """Until `finish`, and what is in the queue has been sent."""
        while not (self._closing and (not self._queue or self.state is State.DOWN)):
            if self.state is State.UP:
                await self._send_some()
            else:
                await self.come_up()
            if self.state is State.DOWN and not self._closing:
                await self._clock.sleep(RETRY_S)

    async def come_up(self, *, strictly: bool = False) -> None:
        """Try once. Where it fails, `state` is DOWN and `trouble` says why; `strictly`: raises `OtherSchema`."""
        try:
            await self._come_up()
        except (LinkDown, CallFailed, OtherSchema, EpochUnknown) as error:
            self._go_down(str(error))
            if strictly and isinstance(error, OtherSchema):
                raise
        else:
            self.state, self.trouble = State.UP, ""

    def finish(self) -> None:
        """Nothing more is taken; `run` ends when it has sent what is left."""
        self._closing = True
        self._filled.set()

    async def _send_some(self) -> None:
        if not self._queue:
            self._quiet.set()
            self._filled.clear()
            await self._filled.wait()
            await asyncio.sleep(0)  # the rest of this loop tick comes along
        batch = self._take()
        try:
            answers = await self._link.send([(verb.name, verb.message()) for verb in batch]) if batch else []
        except LinkDown as error:
            self._queue.extendleft(reversed(batch))
            self.break_off(str(error))
            return
        for verb, answer in zip(batch, answers, strict=True):
            self._take_answer(verb, answer)

    def _take(self) -> list[Verb]:
        """The next verbs; one whose caller has gone meanwhile is not sent."""
        batch: list[Verb] = []
        while self._queue and len(batch) < AT_ONCE:
            verb = self._queue.popleft()
            if verb.done is None or not verb.done.cancelled():
                batch.append(verb)
        return batch

    def _take_answer(self, verb: Verb, answer: Message | CallFailed) -> None:
        if isinstance(answer, CallFailed):
            log.error("store_call_failed", verb=verb.name, error=str(answer))
            _fail(verb)
        elif answer.get("lost"):
            self._queue.append(verb)
            if self.state is State.UP:
                self.break_off("the store has forgotten everything")
        else:
            self._tell(verb, answer)
            if verb.done is not None and not verb.done.done():
                verb.done.set_result(None)

    def _tell(self, verb: Verb, answer: Message) -> None:
        try:
            self._answered(verb, answer)
        except Exception:  # whoever listens is at fault, and not to stop the others' verbs
            log.exception("listener_failed", verb=verb.name)

    def _go_down(self, trouble: str) -> None:
        if self.state is not State.DOWN:
            log.error("store_away", trouble=trouble)
        self.state, self.trouble = State.DOWN, trouble
        kept = deque(verb for verb in self._queue if verb.must)
        for verb in self._queue:
            if not verb.must:
                _fail(verb)
        self._queue = kept


def _fail(verb: Verb) -> None:
    if verb.done is not None and not verb.done.done():
        verb.done.set_exception(StoreAway())
