"""What the store says, as the coordinator hears it: in this process's times, each thing once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from scheduling.backends.valkey import wire
from scheduling.backends.valkey.holding import Holding
from scheduling.backends.valkey.layout import Message
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Event, Granted, Lost, Reply
from scheduling.core.tickets import Ask


class Inbox:
    """`line_up_again`: the store does not know a ticket (any more) whose caller still waits."""

    def __init__(self, holding: Holding, line_up_again: Callable[[Ask], None]) -> None:
        self._holding = holding
        self._line_up_again = line_up_again

    def reply_of(self, message: Message, shift: wire.Shift, now: Moment) -> Reply:
        events = tuple(event for one in message["events"] for event in self._events(one, shift, now))
        due_us = message.get("due_us")
        return Reply(events, None if due_us is None else due_us + shift.us, message["version"])

    def _events(self, message: Message, shift: wire.Shift, now: Moment) -> Iterator[Event]:
        """None if it is no news, or is dealt with here."""
        if "unknown" in message:
            self._again(message["unknown"], None)
            return
        event = wire.event_of(message, shift, now.wall_us)
        if isinstance(event, Granted):
            if self._holding.granted(event, message["charges"], now):
                yield event
        elif isinstance(event, Lost) and event.ticket_id in self._holding.waiting:
            self._again(event.ticket_id, message.get("arrival"))  # an offer that was never heard of
        else:
            self._holding.gone(event.ticket_id)
            yield event

    def _again(self, ticket_id: str, arrival: int | None) -> None:
        """At its old place, if that is known."""
        ask = self._holding.waiting.get(ticket_id)
        if ask is not None:
            self._line_up_again(ask if arrival is None else replace(ask, arrival=arrival))
