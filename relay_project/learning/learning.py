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
from relay_project.learning.outlay import Lesson, Outlay
from relay_project.learning.prompts import PromptFactors
from relay_project.learning.rates import Rates
from relay_project.learning.seeding import recent_lengths
from relay_project.quota.states import Place
from relay_project.snapshot import ModelEntry
from relay_project.tasks import TaskOwner
from scheduling.coordinator import Lease
from scheduling.core.moment import ceil_div
from scheduling.core.spec import SchedulerSpec
from scheduling.timers import Alarm

log = structlog.get_logger(__name__)

TICK_US: Final = 1_000_000
LESSONS_KEPT: Final = 10_000


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
        self._ticks = Alarm(self._clock, self._tick)

    async def start(self) -> None:
        """Begin where the last run ended, as far as the database knows."""
        await self._exchange.go_round(self._now())
        self._tasks.spawn(self._start_from_rows())

    def close(self) -> None:
        self._ticks.set(None)
        self.limits.close()

    def take_over(self, base: SchedulerSpec) -> None:
        """The admin's configuration: what is learned is laid over it before the coordinator gets it."""
        models = (model for provider in base.providers.values() for model in provider.models.values())
        self._may_lower = {model.key: model.rules.answer_cap_streams for model in models if model.rules.answer_cap}
        self.limits.take_over(base)

    def outlay(self, parsed: ParsedChat, model: ModelEntry, user: str) -> Outlay:
        return Outlay(self, self._lessons.append, parsed, model, user)

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

    def work_in(self) -> None:
        """Everything that was put down since the last time."""
        while self._lessons:
            self._learn(self._lessons.popleft())

    def _learn(self, lesson: Lesson) -> None:
        self.lengths.record(lesson.model, lesson.user, ceil_div(lesson.completion_tokens, lesson.choices))
        self.prompts.record(lesson.model, lesson.estimated_prompt, lesson.prompt_tokens)
        used_tokens = lesson.prompt_tokens + lesson.completion_tokens
        self.costs.record(lesson.model, lesson.rule, lesson.charge, used_tokens)

    def _tick(self) -> None:
        self.work_in()
        self.limits.forget_old()
        self._tasks.spawn(self._exchange.go_round(self._now()))
        self._ticks.set(self._clock.now_us() + TICK_US)

    async def _start_from_rows(self) -> None:
        """Lessons wait in the meantime, or they would be learned twice over."""
        try:
            self.lengths.start_from(await sync_to_async(recent_lengths, thread_sensitive=False)(self._now()))
        except DatabaseError as error:
            log.warning("answer lengths of earlier runs cannot be read", error=type(error).__name__)
        self._ticks.set(self._clock.now_us() + TICK_US)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_us() / 1e6, UTC)
