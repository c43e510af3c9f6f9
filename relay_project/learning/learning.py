"""What this process has learned, as the use case sees it: three short calls on the way of a request.

    outlay()    before the line: what it is charged, with which cap it is sent
    served()    the answer has begun: headers are held against the configuration, an adaptive rate climbs
    refused()   the provider said no: figures are read, an adaptive rate is cut

What costs more than a look into a dictionary waits for the second's tick: lessons are worked in, findings go round.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import structlog
from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError

from providers.contract import Refusal
from relay_project.api.chat_request import ParsedChat
from relay_project.learning.costs import CapCosts
from relay_project.learning.exchange import Exchange, Rows
from relay_project.learning.hearing import Hearing
from relay_project.learning.lengths import Lengths
from relay_project.learning.limits import Gate, Limits
from relay_project.learning.outlay import Lesson, Outlay, Request
from relay_project.learning.prompts import PromptFactors
from relay_project.learning.rates import Rates
from relay_project.learning.seeding import recent_lengths
from relay_project.quota.states import Place
from relay_project.snapshot import Caller, ModelEntry
from relay_project.tasks import TaskOwner
from scheduling.coordinator import Lease
from scheduling.core.estimate import estimate_tokens
from scheduling.core.moment import ceil_div
from scheduling.core.spec import Measure, ModelSpec, SchedulerSpec
from scheduling.timers import Alarm

log = structlog.get_logger(__name__)

TICK_US: Final = 1_000_000
LESSONS_KEPT: Final = 10_000
LESSONS_AT_ONCE: Final = 100
"""At about 8 µs each: nobody waits a millisecond for it."""
BREATHER_US: Final = 20_000


class Learning:
    def __init__(self, gate: Gate, rows: Rows, tasks: TaskOwner) -> None:
        self._tasks = tasks
        self._clock = tasks.clock
        self.lengths = Lengths()
        self.prompts = PromptFactors()
        self.costs = CapCosts()
        self.limits = Limits(gate, self._clock)
        self._hearing = Hearing(self.limits, gate, self._clock)
        self._rates = Rates(self.limits, self._clock)
        self._exchange = Exchange(self.limits, rows)
        self._lessons: deque[Lesson] = deque(maxlen=LESSONS_KEPT)
        self._may_lower: dict[str, bool] = {}  # model key → streams too; missing = the profile lowers no caps
        self._counting: frozenset[str] = frozenset()  # models and own limits that count tokens
        self._ticks = Alarm(self._clock, self._tick)
        self._studies = Alarm(self._clock, self._study)

    async def start(self) -> None:
        """Begin where the last run ended, as far as the database knows."""
        await self._exchange.go_round(self._now())
        self._ticks.set(self._clock.now_us() + TICK_US)
        self._tasks.spawn(self._start_from_rows())

    def close(self) -> None:
        self._ticks.set(None)
        self._studies.set(None)
        self.limits.close()

    def take_over(self, base: SchedulerSpec) -> None:
        """The admin's configuration: what is learned is laid over it before the coordinator gets it."""
        models = [model for provider in base.providers.values() for model in provider.models.values()]
        self._may_lower = {model.key: model.rules.answer_cap_streams for model in models if model.rules.answer_cap}
        self._counting = frozenset(model.key for model in models if _counts_tokens(model)) | frozenset(
            flow.key for flow in base.flows.values() if flow.tpm is not None
        )
        self.limits.take_over(base)

    def outlay(self, parsed: ParsedChat, model: ModelEntry, caller: Caller) -> Outlay:
        """Where no limit on the way counts tokens, nobody needs to know how long the prompt is."""
        counted = model.key in self._counting or not self._counting.isdisjoint(caller.limits)
        estimated = estimate_tokens(parsed.prompt_text()) if counted else 0
        return Outlay(self, self._lessons.append, Request(parsed, model, caller.owner, estimated))

    def served(self, place: Place, vendor: str, headers: Mapping[str, str], lease: Lease) -> None:
        if headers:
            self._hearing.answered(place, vendor, headers)
        if lease.rules.adaptive:
            self._rates.served(place)

    def refused(self, place: Place, vendor: str, refusal: Refusal, lease: Lease) -> None:
        self._hearing.refused(place, vendor, refusal)
        if lease.rules.adaptive:
            self._rates.refused(place, refusal, lease.granted_us)

    def prompt_tokens(self, model: str, estimated: int) -> int:
        return self.prompts.tokens(model, estimated)

    def expected_answer(self, model: str, user: str) -> int | None:
        return self.lengths.expected(model, user)

    def lowered_cap(self, model: str, user: str, cap_tokens: int, *, stream: bool) -> int | None:
        streams = self._may_lower.get(model)
        if streams is None or (stream and not streams):
            return None
        return self.lengths.lowered_cap(model, user, cap_tokens)

    def work_in(self, at_most: int = LESSONS_KEPT) -> None:
        """What was put down since the last time, the oldest first."""
        for _ in range(min(at_most, len(self._lessons))):
            self._learn(self._lessons.popleft())

    def _learn(self, lesson: Lesson) -> None:
        model, user = lesson.asked.model.key, lesson.asked.user
        self.lengths.record(model, user, ceil_div(lesson.completion_tokens, lesson.asked.parsed.choices))
        self.prompts.record(model, lesson.asked.estimated_prompt, lesson.prompt_tokens)
        self.costs.record(model, lesson.rule, lesson.charge, lesson.prompt_tokens + lesson.completion_tokens)

    def _study(self) -> None:
        self.work_in(LESSONS_AT_ONCE)
        self._studies.set(self._clock.now_us() + (BREATHER_US if self._lessons else TICK_US))

    def _tick(self) -> None:
        self.limits.forget_old()
        self._tasks.spawn(self._exchange.go_round(self._now()))
        self._ticks.set(self._clock.now_us() + TICK_US)

    async def _start_from_rows(self) -> None:
        """Lessons wait in the meantime, or they would be learned twice over."""
        try:
            self.lengths.start_from(await sync_to_async(recent_lengths, thread_sensitive=False)(self._now()))
        except DatabaseError as error:
            log.warning("answer lengths of earlier runs cannot be read", error=type(error).__name__)
        self._study()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_us() / 1e6, UTC)


def _counts_tokens(model: ModelSpec) -> bool:
    return any(window.measure is not Measure.REQUESTS for window in model.rules.windows)
