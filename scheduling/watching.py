"""Those who want to see where they stand while they wait: told at once, then on change, four times a second at most.

Nobody polls: a change arms one timer, and one picture of the queue serves all. Clients count down themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduling.clock import SECOND_US, Clock
from scheduling.core.snapshot import ModelView, ProviderView, QueueSnapshot, TicketView
from scheduling.timers import Alarm

PAUSE_US = SECOND_US // 4


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a waiting caller is shown."""

    place: int  # 1 = next of its model
    waited_us: int
    predicted_in_us: int | None  # None = cannot be told
    reason: str  # as in `TicketView.reason`
    running: int  # on the lane it waits for
    limit: int
    waiting: int  # on its provider


Watch = Callable[[Waiting], None]


class Watchers:
    def __init__(self, clock: Clock, picture: Callable[[], QueueSnapshot]) -> None:
        self._clock = clock
        self._picture = picture
        self._watches: dict[str, Watch] = {}
        self._shown: dict[str, Waiting] = {}
        self._alarm = Alarm(clock, self._show_all)
        self._not_before_us = 0

    def add(self, ticket_id: str, watch: Watch) -> None:
        self._watches[ticket_id] = watch
        self._show({ticket_id})

    def drop(self, ticket_id: str) -> None:
        self._watches.pop(ticket_id, None)
        self._shown.pop(ticket_id, None)

    def changed(self) -> None:
        """Something changed: show it, soon."""
        if self._watches and not self._alarm.is_set:
            self._alarm.set(max(self._not_before_us, self._clock.now_us()))

    def close(self) -> None:
        self._alarm.set(None)

    def _show_all(self) -> None:
        self._not_before_us = self._clock.now_us() + PAUSE_US
        if self._watches:
            self._show(set(self._watches))

    def _show(self, ticket_ids: set[str]) -> None:
        for ticket_id, waiting in waiting_views(self._picture(), ticket_ids).items():
            known = self._shown.get(ticket_id)
            watch = self._watches.get(ticket_id)
            if watch is not None and not _same_place(known, waiting):
                self._shown[ticket_id] = waiting
                watch(waiting)


def waiting_views(picture: QueueSnapshot, ticket_ids: set[str]) -> dict[str, Waiting]:
    providers = {provider.key: provider for provider in picture.providers}
    return {
        ticket.id: _waiting(ticket, providers[ticket.provider]) for ticket in picture.tickets if ticket.id in ticket_ids
    }


def _waiting(ticket: TicketView, provider: ProviderView) -> Waiting:
    lane: ProviderView | ModelView = provider
    if ticket.reason == "model":
        lane = next(model for model in provider.models if model.key == ticket.model)
    predicted_ms = ticket.estimated_start_ms
    return Waiting(
        place=ticket.place,
        waited_us=ticket.waited_ms * 1000,
        predicted_in_us=None if predicted_ms is None else predicted_ms * 1000,
        reason=ticket.reason,
        running=lane.running,
        limit=provider.limit if lane.limit is None else lane.limit,
        waiting=provider.waiting,
    )


def _same_place(known: Waiting | None, new: Waiting) -> bool:
    """Nothing new but the time that has passed, which the client counts itself."""
    if known is None or _facts(known) != _facts(new):
        return False
    if known.predicted_in_us is None or new.predicted_in_us is None:
        return known.predicted_in_us is new.predicted_in_us
    passed_us = new.waited_us - known.waited_us
    return abs(known.predicted_in_us - passed_us - new.predicted_in_us) < PAUSE_US


def _facts(waiting: Waiting) -> tuple[int | str, ...]:
    return waiting.place, waiting.reason, waiting.running, waiting.limit, waiting.waiting
