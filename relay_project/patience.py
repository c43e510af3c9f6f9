"""How long a role waits for its preferred candidate: while it will start within the role's patience."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

from relay_project.calls import Reply
from relay_project.resolution import Candidate
from relay_project.turn import Turn
from scheduling.watching import Waiting, Watch


class Impatient(Exception):
    """The candidate would keep the caller waiting beyond the role's patience."""

    def __init__(self, predicted_s: float) -> None:
        super().__init__(predicted_s)
        self.predicted_s = predicted_s
        self.candidate: Candidate

    def of(self, candidate: Candidate) -> Impatient:
        self.candidate = candidate
        return self

    def __lt__(self, other: Impatient) -> bool:
        return self.predicted_s < other.predicted_s


async def take_within(turn: Turn, watch: Watch | None, patience_s: float | None) -> Reply:
    """Take the turn; raises `Impatient` as soon as its place in line promises a start later than `patience_s`.

    A ticket that cannot be predicted may wait for `patience_s`. None = all the time its line gives.
    """
    if patience_s is None:
        return await turn.take(watch)
    line = _Line(turn, patience_s, watch)
    taking = asyncio.ensure_future(turn.take(line.show))
    line.give_up = taking.cancel
    patience_us = round(patience_s * 1e6)
    ends = turn.clock.call_at(turn.clock.now_us() + patience_us, line.time_is_up)
    try:
        return await taking
    except asyncio.CancelledError:
        if line.predicted_s is None or _cancelled_from_outside():
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)
            raise
        raise Impatient(line.predicted_s) from None
    finally:
        ends.cancel()


class _Line:
    """Watches one ticket and gives it up when it promises too late a start."""

    def __init__(self, turn: Turn, patience_s: float, watch: Watch | None) -> None:
        self._turn = turn
        self._patience_s = patience_s
        self._watch = watch
        self.predicted_s: float | None = None  # set when given up
        self.give_up: Callable[[], object] = bool

    def show(self, waiting: Waiting) -> None:
        if self._watch is not None:
            self._watch(waiting)
        if waiting.predicted_in_us is not None and waiting.predicted_in_us / 1e6 > self._patience_s:
            self._leave(waiting.predicted_in_us / 1e6)

    def time_is_up(self) -> None:
        """It has been patient without ever being promised a start."""
        if self._turn.in_line:
            self._leave(inf)

    def _leave(self, predicted_s: float) -> None:
        if self.predicted_s is None:
            self.predicted_s = predicted_s
            self.give_up()


def _cancelled_from_outside() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
