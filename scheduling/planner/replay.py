"""What came, once more: recorded calls through the real core, under the numbers of a real configuration.

Every call takes as long and answers as much as it did then, comes once, and does not come back when it is refused: what
its caller did after that, and what the provider would have said to more calls at once, is not in the books. So a replay
tells what the relay's own numbers do to a day, not how the provider would have borne it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduling.core.charge import Ending
from scheduling.core.outcomes import Event, Granted, Left
from scheduling.core.spec import Class, SchedulerSpec
from scheduling.core.tickets import Actual, Ask, Charge
from scheduling.planner.desk import Desk
from scheduling.planner.figures import percentile_s
from scheduling.planner.journal import Journal
from scheduling.planner.timeline import SECOND_US, Timeline

MINUTE_US = 60 * SECOND_US
LANES, LINE = "lanes", "line"
"""The two fills of a replay's journal: taken lanes, and taken places in line, as shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One call. `at_us`: since the first."""

    at_us: int
    model: str  # model key
    flow: str
    limits: tuple[str, ...] = ()  # keys of FlowSpecs that bind it too
    klass: Class = Class.INTERACTIVE
    prompt_tokens: int = 0
    cap_tokens: int = 0
    completion_tokens: int = 0
    run_us: int


@dataclass(slots=True)
class Replayed:
    journal: Journal
    waits_us: list[int] = field(default_factory=list)  # of those that started
    peak_running: int = 0
    peak_waiting: int = 0


@dataclass(frozen=True, slots=True)
class ReplayFigures:
    asked: int
    started: int
    refused: dict[str, int]  # code → times, the most frequent first
    wait_p50_s: float | None  # of those that started; None = none did
    wait_p95_s: float | None
    wait_p99_s: float | None
    peak_running: int
    peak_waiting: int
    busiest_minute: int  # starts in any 60 s


def replay(calls: Sequence[Recorded], spec: SchedulerSpec, provider: str, wall_at_zero_us: int) -> Replayed:
    """`calls` of one provider, in order of arrival; `wall_at_zero_us`: when the first came (calendar windows)."""
    return _Replay(calls, spec, provider, wall_at_zero_us).run()


def replay_figures(replayed: Replayed) -> ReplayFigures:
    journal, waits_us = replayed.journal, replayed.waits_us
    return ReplayFigures(
        asked=len(journal.asked_us),
        started=len(journal.started_us),
        refused=dict(Counter(code for _, code in journal.rejections).most_common()),
        wait_p50_s=percentile_s(waits_us, 50, of=len(waits_us)),
        wait_p95_s=percentile_s(waits_us, 95, of=len(waits_us)),
        wait_p99_s=percentile_s(waits_us, 99, of=len(waits_us)),
        peak_running=replayed.peak_running,
        peak_waiting=replayed.peak_waiting,
        busiest_minute=most_within(journal.started_us, MINUTE_US),
    )


def most_within(times_us: Sequence[int], span_us: int) -> int:
    """The most of `times_us` (rising) in any half-open stretch of that length."""
    inside: deque[int] = deque()
    most = 0
    for at_us in times_us:
        inside.append(at_us)
        while inside[0] <= at_us - span_us:
            inside.popleft()
        most = max(most, len(inside))
    return most


class _Replay:
    def __init__(self, calls: Sequence[Recorded], spec: SchedulerSpec, provider: str, wall_at_zero_us: int) -> None:
        rules = spec.providers[provider].rules
        self._lanes = rules.lanes if rules else 1
        self._places = max(1, rules.max_waiting) if rules else 1
        self._calls = calls
        self._provider = provider
        self._timeline = Timeline()
        self._desk = Desk(spec, self._timeline, self._take, wall_at_zero_us)
        self._running = self._waiting = 0
        self._came = Replayed(Journal(limits=[LANES, LINE]))

    def run(self) -> Replayed:
        for number, call in enumerate(self._calls):
            self._timeline.at(call.at_us, lambda number=number, call=call: self._arrive(number, call))  # type: ignore[misc]
        while self._timeline.advance(self._timeline.now_us + MINUTE_US):
            pass
        return self._came

    def _arrive(self, number: int, call: Recorded) -> None:
        self._came.journal.asked_us.append(self._timeline.now_us)
        self._waiting += 1
        ask = Ask(
            ticket_id=str(number),
            provider=self._provider,
            model=call.model,
            klass=call.klass,
            flow=call.flow,
            limits=call.limits,
            charge=Charge(call.prompt_tokens, call.cap_tokens),
        )
        self._desk.line_up(ask)
        self._note()

    def _take(self, event: Event) -> None:
        journal = self._came.journal
        if isinstance(event, Granted):
            self._waiting -= 1
            self._running += 1
            self._came.waits_us.append(event.queue_us)
            journal.arrived(self._timeline.now_us, None)
            self._start(event)
        elif isinstance(event, Left):
            self._waiting -= 1
            journal.rejections.append((self._timeline.now_us, str(event.code)))

    def _start(self, grant: Granted) -> None:
        call = self._calls[int(grant.ticket_id)]
        cut = call.run_us > grant.rules.run_timeout_us
        run_us = min(call.run_us, grant.rules.run_timeout_us)
        self._timeline.after(run_us, lambda: self._end(grant.ticket_id, call, Ending.FAILED if cut else Ending.SERVED))

    def _end(self, ticket_id: str, call: Recorded, ending: Ending) -> None:
        self._running -= 1
        actual = Actual(prompt_tokens=call.prompt_tokens, completion_tokens=call.completion_tokens)
        self._desk.release(ticket_id, ending, actual)
        self._came.journal.ended_us = self._timeline.now_us
        self._note()

    def _note(self) -> None:
        """How full it is, now that a verb has ended."""
        came = self._came
        came.peak_running = max(came.peak_running, self._running)
        came.peak_waiting = max(came.peak_waiting, self._waiting)
        shares = [self._running / self._lanes, self._waiting / self._places]
        came.journal.filled(self._timeline.now_us, shares)
