"""A store under test, asked verb by verb and with the test's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import redis

from scheduling.backends.valkey import wire
from scheduling.backends.valkey.layout import Message, lay_out
from scheduling.backends.valkey.library import SCHEMA, Library, library
from scheduling.backends.valkey.picture import records_of, state_of
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Reply
from scheduling.core.state import State
from tests.scheduling.backends.histories import LEASE_US, Step

AS_THEY_ARE = wire.Shift(0, 0)


@dataclass
class Store:
    url: str
    client: redis.Redis
    namespace: str

    @property
    def prefix(self) -> str:
        return f"{{{self.namespace}}}:{SCHEMA}:"

    def empty(self) -> None:
        keys = list(self.client.scan_iter(match=f"{{{self.namespace}}}*", count=1000))
        if keys:
            self.client.delete(*keys)

    def load(self, of: Library) -> None:
        if not self.client.function_list(of.name):
            self.client.function_load(of.text)

    def play(self, steps: Sequence[Step], of: Library | None = None, *, cold: bool = False) -> list[Reply]:
        """What the store answers to all steps of a history, put before it in one go.

        `cold`: something else is asked in between, so that nothing it has in memory is of use for the next step."""
        built = of or library(told_clock=True)
        self.load(built)
        pipeline = self.client.pipeline(transaction=False)
        self._found(pipeline, built, self.prefix, steps[0].now)
        if cold:
            self._found(pipeline, built, self.prefix + "other:", steps[0].now)
        for step in steps:
            self._put(pipeline, built, self.prefix, step.verb, message_of(step), step.now)
            if cold:
                self._put(pipeline, built, self.prefix + "other:", "pump", {}, step.now)
        answers = pipeline.execute()
        answers = answers[2::2] if cold else answers[1:]
        return [wire.reply_of(msgspec.msgpack.decode(one), AS_THEY_ARE) for one in answers]

    def state(self) -> State:
        """Its records, made a core state."""
        records, config = (records_of(self.client.hgetall(self.prefix + name)) for name in ("state", "config"))
        talks = self.client.hgetall(self.prefix + "talks")
        return state_of(records, config, {key.decode(): one.decode() for key, one in talks.items()})

    def _found(self, pipeline: Any, built: Library, prefix: str, now: Moment) -> None:
        self._put(pipeline, built, prefix, "found", {"epoch": "e", "lease_us": LEASE_US, "offers": True}, now)

    def _put(self, pipeline: Any, built: Library, prefix: str, verb: str, message: Message, now: Moment) -> None:
        call = {**message, "now": list(now)}
        pipeline.fcall(built.function(verb), 1, prefix, msgspec.msgpack.encode(call))


def message_of(step: Step) -> Message:
    return _MESSAGE_OF[step.verb](*step.arguments, step.now)


_MESSAGE_OF: dict[str, Any] = {
    "line_up": lambda ask, now: {"ask": wire.ask_message(ask, now)},
    "cancel": lambda ticket_id, now: {"id": ticket_id},
    "settle": lambda ticket_id, ending, actual, now: wire.ending_message(ticket_id, ending, actual),
    "release": lambda ticket_id, ending, actual, now: wire.ending_message(ticket_id, ending, actual),
    "acknowledge": lambda ids, now: {"ids": list(ids)},
    "renew": lambda holder, ids, now: {"holder": holder, "ids": list(ids)},
    "pump": lambda now: {},
    "configure": lambda spec, now: {"spec": lay_out(spec, now.wall_us)},
    "expel": lambda selection, code, now: wire.selection_message(selection, code),
    "close": lambda closure, now: wire.closure_message(closure, now),
    "reopen": lambda target, now: {"target": wire.target_message(target)},
}
