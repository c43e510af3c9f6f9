"""What happened to one request, from arrival to its end: one usage row, written exactly once.

A story is told in plain, synchronous steps, so that it can be ended from the `finally` of a cancelled task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from accounts.outbox.record import UsageRecord
from accounts.outcomes import Outcome
from providers.contract import AnswerFacts, Usage
from relay_project.calls import Call
from relay_project.costs import added, cost_microusd, sum_of
from relay_project.errors import ProviderSaidNo
from relay_project.problems import problem_of
from relay_project.refusal_codes import outcome_of
from relay_project.rendering import Hearer
from relay_project.snapshot import ModelEntry
from relay_project.timeline import Timeline
from scheduling.clock import Clock
from scheduling.coordinator import Lease
from scheduling.core.estimate import estimate_tokens
from scheduling.errors import Rejection

OUTCOME_OF_REJECTION: Mapping[str, Outcome] = {
    "provider_queue_timeout": Outcome.QUEUE_TIMEOUT,
    "queue_evicted": Outcome.EVICTED,
    "ticket_cancelled": Outcome.EVICTED,
}
LETTERS_PER_TOKEN = 4.4  # of plain output text, where no usage was reported (SCHEDULING §5)


class Books(Protocol):
    """Where rows go (`accounts.outbox.Outbox`)."""

    def intend(self, record: UsageRecord) -> None: ...

    def settle(self, record: UsageRecord) -> None: ...


class Story:
    def __init__(self, call: Call, books: Books, clock: Clock) -> None:
        self._call = call
        self._books = books
        self._timeline = Timeline(clock)
        self._closed = False
        self._model: ModelEntry | None = None
        self._usage: Usage | None = None
        self._measured = ""
        self.also_used: Usage | None = None  # by an answer before this one, of the same request
        self.role = ""
        self.klass = ""
        self.stream = False
        self.prompt_text: Any = str  # called only if an estimate is needed

    @property
    def hearer(self) -> Hearer:
        return self._call.hearer

    @property
    def model_name(self) -> str:
        """Public name of the model that is answering."""
        return self._model.public_name if self._model else ""

    @property
    def attempts(self) -> int:
        return len(self._timeline.attempts)

    @property
    def queue_ms(self) -> int:
        return self._timeline.queue_us // 1000

    @property
    def began_us(self) -> int:
        """Arrival, monotonic."""
        return self._timeline.began_us

    @property
    def waited_us(self) -> int:
        """Since arrival."""
        return self._timeline.since_arrival_us

    def granted(self, lease: Lease, model: ModelEntry, credential: str) -> None:
        """A place on the lanes: the attempt is about to be sent. The intent makes a later crash visible."""
        self._timeline.waited(lease.queue_us, lease.pace_us)
        self._model = model
        self._timeline.attempt_began(model.provider, model.public_name, credential)
        if self.attempts == 1:
            self._books.intend(self._record(outcome=""))

    def first_content(self) -> None:
        self._timeline.first_content()

    def attempt_ended(self, outcome: Outcome, reason: str = "") -> None:
        self._timeline.attempt_ended(outcome, reason)

    def answered(self, outcome: Outcome, facts: AnswerFacts, *, reason: str = "", whole: bool) -> None:
        """The answer has ended. `whole`: the caller got all there was, so that reported usage is complete."""
        self._take_usage(facts, whole=whole)
        self.attempt_ended(outcome, reason)
        self.close(outcome, reason=reason, stage="provider" if reason else "", http_status=200)

    def rejected(self, error: Rejection, model: ModelEntry) -> None:
        """Waiting that came to nothing counts as waiting too; if nothing else comes, it was for that model."""
        self._timeline.waited(error.told.queue_us, error.told.pace_us)
        self._model = self._model or model

    def failed(self, error: Exception) -> None:
        """No answer: the error the caller is told decides."""
        problem = problem_of(error)
        if isinstance(error, Rejection):
            outcome = OUTCOME_OF_REJECTION.get(error.code, Outcome.REJECTED)
        elif isinstance(error, ProviderSaidNo):
            outcome = outcome_of(error.refusal)
        else:
            outcome = Outcome.RELAY_ERROR if problem.code == "internal" else Outcome.REJECTED
        self.close(outcome, reason=problem.code, stage=problem.entry.stage, http_status=problem.entry.status)

    def client_gone(self, facts: AnswerFacts | None = None) -> None:
        """The caller left, in line or while running."""
        if self._closed:
            return
        if facts is None and not self.attempts:
            self._timeline.left_in_line()
        if facts is not None:
            self._take_usage(facts, whole=False)
        self.attempt_ended(Outcome.CLIENT_GONE)
        self.close(Outcome.CLIENT_GONE, reason="client_gone", stage="request", http_status=499)

    def close(self, outcome: Outcome, *, reason: str, stage: str, http_status: int) -> None:
        if self._closed:
            return
        self._closed = True
        self._books.settle(self._record(outcome=outcome, reason=reason, stage=stage, http_status=http_status))

    def _take_usage(self, facts: AnswerFacts, *, whole: bool) -> None:
        """Measured if reported; else estimated from what was read, and marked so."""
        self._usage = facts.usage
        if facts.usage is None or facts.usage.completion_tokens is None:
            self._usage = Usage(
                prompt_tokens=estimate_tokens(self.prompt_text()),
                completion_tokens=round(facts.content_chars / LETTERS_PER_TOKEN),
            )
            self._measured = "estimated" if whole else "partial"
        else:
            self._measured = "measured" if whole else "partial"

    def _record(
        self, *, outcome: str, reason: str = "", stage: str = "", http_status: int | None = None
    ) -> UsageRecord:
        usage = added(self._usage or Usage(), self.also_used)
        caller, model = self._call.caller, self._model
        return UsageRecord(
            request_id=self._call.id,
            created_at_us=self._timeline.began_wall_us,
            user_id=caller.user_id,
            token_id=caller.token_id,
            team_id=caller.team_id,
            client=self._call.headers.get("user-agent", "")[:80],
            role=self.role,
            provider=model.provider if model else "",
            model=model.public_name if model else "",
            upstream_model=model.upstream_name if model else "",
            klass=self.klass,
            purpose=self._call.purpose,
            outcome=outcome,
            reason=reason,
            stage=stage,
            http_status=http_status,
            stream=self.stream,
            queue_ms=self._timeline.queue_us // 1000,
            pace_ms=self._timeline.pace_us // 1000,
            run_ms=self._timeline.run_us // 1000,
            ttft_ms=self._timeline.ttft_ms,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_prompt_tokens=usage.cached_prompt_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            charged_tokens=sum_of(usage),
            cost_microusd=None if model is None else cost_microusd(model, usage),
            measured=self._measured,
            recovered=outcome == Outcome.RECOVERED,
            attempts=tuple(attempt.row() for attempt in self._timeline.attempts),
        )
