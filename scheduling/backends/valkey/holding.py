"""What this process has in the store: who waits, who runs, what was charged of late, what it has closed.

Enough to say it all again to a store that has forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.backends.valkey.layout import DAY_US, Message, known_only
from scheduling.backends.valkey.wire import ask_message
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Granted
from scheduling.core.tickets import Ask, Closure, TargetRef
from scheduling.core.windows import SlidingWindow


@dataclass(slots=True)
class Running:
    ask: Ask
    granted: Granted
    settled: bool = False


class Holding:
    def __init__(self, box: str) -> None:
        self.box = box
        self.epoch = ""
        """Under which the store knew all this."""
        self.waiting: dict[str, Ask] = {}
        self.running: dict[str, Running] = {}
        self._charged: dict[str, SlidingWindow] = {}
        self._closed: dict[TargetRef, Closure] = {}

    def granted(self, granted: Granted, charges: list[Message], now: Moment) -> bool:
        """Note it; answers whether it is news (a grant may be told twice)."""
        if granted.ticket_id in self.running:
            return False
        ask = self.waiting.pop(granted.ticket_id, None)
        if ask is not None:
            self.running[granted.ticket_id] = Running(ask, granted)
        for charge in charges:
            self._charge(charge, now)
        return True

    def settled(self, ticket_id: str) -> None:
        if ticket_id in self.running:
            self.running[ticket_id].settled = True

    def gone(self, ticket_id: str) -> None:
        self.waiting.pop(ticket_id, None)
        self.running.pop(ticket_id, None)

    def closed(self, closure: Closure) -> None:
        known = self._closed.get(closure.target)
        if known is None or known.until_wall_us < closure.until_wall_us:
            self._closed[closure.target] = closure

    def reopened(self, target: TargetRef) -> None:
        self._closed.pop(target, None)

    def closures(self, now: Moment) -> list[Closure]:
        """What is closed still, as far as this process has closed it."""
        self._closed = {key: one for key, one in self._closed.items() if one.until_wall_us > now.wall_us}
        return list(self._closed.values())

    def announcement(self, run_id: str, now: Moment) -> Message:
        return {
            "box": self.box,
            "run_id": run_id,
            "epoch": self.epoch,
            "held": [self._held(one, now) for one in self.running.values()],
            "waiting": list(self.waiting),
            "charges": [
                {"axis": axis, "amount": used}
                for axis, window in self._charged.items()
                if (used := window.used(now)) > 0
            ],
        }

    def _held(self, running: Running, now: Moment) -> Message:
        granted = running.granted
        return known_only(
            {
                "ask": ask_message(running.ask, now, self.box),
                "credential": granted.credential_id,
                "age_us": max(0, now.us - granted.granted_us),
                "pace_us": granted.pace_us,
                "arrival": granted.arrival,
                "settled": running.settled,
            }
        )

    def _charge(self, charge: Message, now: Moment) -> None:
        length_us = charge["length_us"]
        if 0 < length_us <= DAY_US:
            window = self._charged.setdefault(charge["axis"], SlidingWindow(length_us))
            window.length_us = length_us
            window.add(charge["amount"], now)
