"""The relay's real core on a timeline: asks it, keeps the timer for what is due next, hands over what happens."""

from __future__ import annotations

from collections.abc import Callable

from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Event, Reply
from scheduling.core.spec import SchedulerSpec
from scheduling.core.tickets import Actual, Ask, Closure
from scheduling.core.verbs import Core
from scheduling.planner.timeline import SECOND_US, Planned, Timeline

WALL_AT_ZERO_US = 1_800_000_000 * SECOND_US


class Desk:
    def __init__(
        self,
        spec: SchedulerSpec,
        timeline: Timeline,
        take: Callable[[Event], None],
        wall_at_zero_us: int = WALL_AT_ZERO_US,
    ) -> None:
        """`take` is called with every grant and every no, at its moment."""
        self._timeline = timeline
        self._take = take
        self._wall_at_zero_us = wall_at_zero_us
        self._due_us: int | None = None
        self._due = Planned(_nothing)
        self._core = Core(spec, self.now())

    def now(self) -> Moment:
        return Moment(self._timeline.now_us, self._wall_at_zero_us + self._timeline.now_us)

    def line_up(self, ask: Ask) -> None:
        self._pass_on(self._core.line_up(ask, self.now()))

    def release(self, ticket_id: str, ending: Ending, actual: Actual) -> None:
        self._pass_on(self._core.release(ticket_id, ending, actual, self.now()))

    def close(self, closure: Closure) -> None:
        self._pass_on(self._core.close(closure, self.now()))

    def configure(self, spec: SchedulerSpec) -> None:
        self._pass_on(self._core.configure(spec, self.now()))

    def _pump(self) -> None:
        self._due_us = None
        self._pass_on(self._core.pump(self.now()))

    def _pass_on(self, reply: Reply) -> None:
        for event in reply.events:
            self._take(event)
        self._arm(reply.next_due_us)

    def _arm(self, due_us: int | None) -> None:
        if due_us == self._due_us:
            return
        self._due.call_off()
        self._due_us = due_us
        if due_us is not None:
            self._due = self._timeline.at(due_us, self._pump)


def _nothing() -> None:
    """What was planned before anything was."""
