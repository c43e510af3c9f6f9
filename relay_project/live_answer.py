"""An answer on its way to the caller, with all that is held for it.

It owns the upstream connection, the lease and the story, and gives each back exactly once: when the upstream ends,
breaks or errs, or when the caller leaves. Every way out is synchronous, so a cancellation cannot cut it short.
"""

from __future__ import annotations

from accounts.outcomes import Outcome
from providers.contract import Answer, AnswerFacts, End, Refusal, RefusalKind, UpstreamFault, Usage
from relay_project.attempts import Begun, taken_away
from relay_project.errors import ProviderSaidNo
from relay_project.learning.outlay import Outlay
from relay_project.refusal_codes import CODES, EMPTY
from relay_project.rendering import problem_event
from relay_project.story import Story
from relay_project.tasks import TaskOwner
from scheduling.coordinator import Lease
from scheduling.core.charge import Ending
from scheduling.core.spec import OnDisconnect
from scheduling.core.tickets import Actual

_WHOLE = {End.COMPLETE: Outcome.COMPLETED, End.RECOVERED: Outcome.RECOVERED}
_BROKE_OFF = Refusal(
    RefusalKind.SERVER_ERROR, evidence="truncated", message="The provider's answer broke off before its end."
)


class LiveAnswer:
    """Async iterator of bytes; see the module."""

    def __init__(self, begun: Begun, lease: Lease, story: Story, outlay: Outlay, tasks: TaskOwner) -> None:
        self._answer: Answer = begun.answer
        self._head = begun.head
        self._over = begun.over
        self._lease = lease
        self._story = story
        self._outlay = outlay
        self._tasks = tasks
        self._ended = False
        lease.on_lost(self._answer.close)
        if begun.over:
            self._end()

    def __aiter__(self) -> LiveAnswer:
        return self

    async def __anext__(self) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            return head
        if self._ended:
            raise StopAsyncIteration
        return await self._next() or await self._stop()

    async def _next(self) -> bytes:
        """The next bytes to send; empty when there are no more."""
        reader = self._answer.reader
        while reader.facts.error is None:
            try:
                passed = reader.feed(await anext(self._answer.chunks))
            except StopAsyncIteration:
                return reader.close() + self._end()
            except UpstreamFault as fault:
                return self._break(fault.refusal)
            except ValueError as error:  # an event larger than any may be
                return self._break(Refusal(RefusalKind.SERVER_ERROR, evidence="answer", message=str(error)))
            if passed:
                return passed
        return reader.close() + self._end()

    async def _stop(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """The caller has gone, or has had everything."""
        if not self._ended:
            self._leave()

    def _end(self) -> bytes:
        """The upstream has said all it will say: judge it; return what the caller must still be told."""
        end = self._answer.reader.end()
        if end in _WHOLE:
            self._close(_WHOLE[end])
            return b""
        error = self._answer.reader.facts.error
        if end is End.ERROR and error is not None:
            return self._tell(error, Outcome.UPSTREAM_ERROR)
        return self._tell(EMPTY, Outcome.EMPTY) if end is End.EMPTY else self._tell(_BROKE_OFF, Outcome.TRUNCATED)

    def _break(self, refusal: Refusal) -> bytes:
        """A fault in the middle: complete all the same if the end had been said."""
        tail = self._answer.reader.close()
        end = self._answer.reader.end()
        if end in _WHOLE:
            self._close(_WHOLE[end])
            return tail
        if self._lease.is_lost:
            return tail + self._tell_taken_away()
        timed_out = refusal.kind is RefusalKind.TIMEOUT
        return tail + self._tell(refusal, Outcome.RUN_TIMEOUT if timed_out else Outcome.UPSTREAM_ERROR)

    def _tell(self, refusal: Refusal, outcome: Outcome) -> bytes:
        """An error after content: an event in the stream, an honest row."""
        code = CODES[refusal.kind]
        self._close(outcome, reason=code)
        error = ProviderSaidNo(
            code,
            refusal,
            provider=self._lease.provider,
            model=self._story.model_name,
            retry_after_s=refusal.retry_after_s,
        )
        return problem_event(error, self._story.hearer)

    def _tell_taken_away(self) -> bytes:
        """We have closed it ourselves: the lease was taken away (token revoked, stopped by an administrator)."""
        evicted = taken_away(self._lease)
        evicted.model = self._story.model_name
        self._close(Outcome.EVICTED, reason=evicted.code)
        return problem_event(evicted, self._story.hearer)

    def _leave(self) -> None:
        """The caller has gone. If all had been said, it is complete; else cut, or read on to learn the usage."""
        end = self._answer.reader.end()
        if end in _WHOLE and self._answer.reader.facts.terminal_seen:
            self._close(_WHOLE[end])
        elif self._lease.rules.on_disconnect is OnDisconnect.DRAIN:
            self._ended = True
            self._tasks.spawn(self._read_on(self._lease.rules.drain_us))
        else:
            self._abandon()

    async def _read_on(self, at_most_us: int) -> None:
        """`on_disconnect: drain`. The lane stays held: the provider is still working."""
        clock = self._tasks.clock
        cut = clock.call_at(clock.now_us() + at_most_us, self._answer.close)
        try:
            async for chunk in self._answer.chunks:
                self._answer.reader.feed(chunk)
        except UpstreamFault:
            pass  # cut by us or broken by them: what was read until now is what we know
        finally:
            cut.cancel()
            self._abandon()

    def _abandon(self) -> None:
        self._ended = True
        self._answer.close()
        self._settle(Ending.FAILED)
        self._story.client_gone(self._answer.reader.facts)

    def _close(self, outcome: Outcome, *, reason: str = "") -> None:
        self._ended = True
        self._answer.close()
        whole = outcome in (Outcome.COMPLETED, Outcome.RECOVERED)
        self._settle(Ending.SERVED if whole else Ending.FAILED)
        if whole:
            self._outlay.learn_from(self._answer.reader.facts, self._lease.rules.charge_rule)
        self._story.answered(outcome, self._answer.reader.facts, reason=reason, whole=whole)

    def _settle(self, ending: Ending) -> None:
        self._lease.release(measured(self._answer.reader.facts), ending)


def measured(facts: AnswerFacts) -> Actual:
    """What the answer cost, as far as it was told."""
    usage = facts.usage or Usage()
    return Actual(
        prompt_tokens=usage.prompt_tokens,
        cached_prompt_tokens=usage.cached_prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )
