"""While somebody waits, the log says so: `next start in about 3 s, 4 waiting`, per provider, every few seconds.

The coordinator's news only arm a timer: however much happens, the queue is looked at once in `EVERY_US`. A wait that is
over within `FIRST_US` is not worth a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import structlog

from scheduling.clock import SECOND_US, Clock, Timer
from scheduling.core.snapshot import ProviderView, QueueSnapshot, TicketView

log = structlog.get_logger(__name__)

FIRST_US = SECOND_US // 2
EVERY_US = 5 * SECOND_US


class Watched(Protocol):
    def snapshot(self) -> QueueSnapshot: ...

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]: ...


class WaitingLog:
    def __init__(self, coordinator: Watched, clock: Clock) -> None:
        self._coordinator = coordinator
        self._clock = clock
        self._not_before_us = 0
        self._timer: Timer | None = None
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        self._unsubscribe = self._coordinator.subscribe(self._changed)

    def close(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _changed(self) -> None:
        if self._timer is None:
            self._arm(max(self._not_before_us, self._clock.now_us() + FIRST_US))

    def _arm(self, when_us: int) -> None:
        self._timer = self._clock.call_at(when_us, self._tell)

    def _tell(self) -> None:
        self._timer = None
        picture = self._coordinator.snapshot()
        crowded = [provider for provider in picture.providers if provider.waiting]
        for provider in crowded:
            log.info(in_words(provider, picture.tickets), provider=provider.key)
        if crowded:
            self._not_before_us = self._clock.now_us() + EVERY_US
            self._arm(self._not_before_us)


def in_words(provider: ProviderView, tickets: tuple[TicketView, ...]) -> str:
    starts = [
        ticket.estimated_start_ms
        for ticket in tickets
        if ticket.provider == provider.key and ticket.estimated_start_ms is not None
    ]
    when = f"in about {-(-min(starts) // 1000)} s" if starts else "not known"
    return f"next start {when}, {provider.waiting} waiting"
