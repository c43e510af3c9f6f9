"""One candidate's turn in one request: admit, attempt, and where it is sensible once more.

Again, on the same candidate, only for three reasons, each at most once for its cause: the connection was stale (nothing
was looked at); the refusal closed the key that was used and another key is left; the refusal is brief and the profile
says to wait it out (`wait_once`): then the request re-enters first in its class with its arrival order and deadline,
having given its lane back. What cannot wait so long is told the provider's own no.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from accounts.outcomes import Outcome
from providers.contract import Adapter, Refusal
from relay_project.addressing import deadlines_of, ending_of, place_of, target_of
from relay_project.api.chat_request import ParsedChat
from relay_project.attempts import Begun, begin, while_held
from relay_project.calls import Call, Reply
from relay_project.errors import ProviderSaidNo
from relay_project.learning.giving_way import acquire
from relay_project.learning.learning import Learning
from relay_project.learning.outlay import Outlay
from relay_project.live_answer import LiveAnswer, measured
from relay_project.quota.consequences import Consequence, Effect
from relay_project.quota.states import QuotaStates
from relay_project.refusal_codes import outcome_of, said_no
from relay_project.resolution import Candidate
from relay_project.snapshot import Configuration
from relay_project.story import Books, Story
from relay_project.tasks import TaskOwner
from scheduling.coordinator import Coordinator, Lease
from scheduling.core.charge import Ending
from scheduling.core.spec import Scope
from scheduling.core.tickets import Ask
from scheduling.errors import Evicted, Rejection
from scheduling.watching import Watch

MAX_ATTEMPTS = 8  # of one request, over all its candidates


@dataclass(frozen=True, slots=True)
class Parts:
    """What the use case is made of; see wiring.py."""

    configuration: Callable[[], Configuration]
    coordinator: Coordinator
    adapters: Mapping[str, Adapter]  # by dialect
    books: Books
    tasks: TaskOwner
    quota: QuotaStates
    learning: Learning


@dataclass(frozen=True, slots=True)
class Asking:
    """One request, read: what every turn of it works on."""

    call: Call
    parsed: ParsedChat
    story: Story


@dataclass(frozen=True, slots=True)
class Refused:
    """An attempt that came to a no."""

    no: ProviderSaidNo
    consequence: Consequence
    lease: Lease


@dataclass(frozen=True, slots=True)
class CutShort:
    """A whole answer that our own, lowered cap ended."""

    begun: Begun
    lease: Lease
    outlay: Outlay


class Turn:
    def __init__(self, parts: Parts, asking: Asking, candidate: Candidate, *, patience_s: float | None) -> None:
        """`patience_s`: how long a brief refusal may keep it while others could be asked; None = no others."""
        self._parts = parts
        self._asking = asking
        self._candidate = candidate
        self._patience_s = patience_s
        self._outlay = parts.learning.outlay(asking.parsed, candidate.model, asking.call.caller)
        self._resent = False
        self._waited = False
        self._keys_tried: set[str | None] = set()
        self.clock = parts.tasks.clock
        self.in_line = False

    async def take(self, watch: Watch | None = None) -> Reply:
        """Raises `ProviderSaidNo` or `Rejection`."""
        outcome = await self._try(watch, None)
        while isinstance(outcome, Refused) and self._once_more(outcome):
            try:
                again = await self._try(watch, outcome if self._waited else None)
            except Rejection:
                break  # it cannot start in time: the provider's own no is the true reason
            outcome = again
        if isinstance(outcome, Refused):
            raise outcome.no
        return outcome

    def _once_more(self, refused: Refused) -> bool:
        if self._asking.story.attempts >= MAX_ATTEMPTS:
            return False
        if refused.no.refusal.safe_to_resend:
            first, self._resent = not self._resent, True
            return first
        if refused.consequence.effect is Effect.USED_UP and refused.consequence.scope is Scope.CREDENTIAL:
            return len(self._keys_tried) < len(self._candidate.provider.credentials)
        if refused.consequence.effect is Effect.BRIEF and not self._waited:
            self._waited = True
            return self._patience_s is None or refused.consequence.wait_s <= self._patience_s
        return False

    async def _try(self, watch: Watch | None, earlier: Refused | None) -> Reply | Refused:
        """An attempt; what our cap cut short is asked for once more with the caller's own, and told short only if that
        cannot be had."""
        outcome = await self._attempt(watch, earlier)
        if not isinstance(outcome, CutShort):
            return outcome
        self._outlay = outcome.outlay.with_own_cap()
        try:
            again = await self._attempt(watch, None)
        except Rejection:
            again = outcome
        if isinstance(again, Reply):
            return again
        self._outlay, self._asking.story.also_used = outcome.outlay, None
        return self._reply(outcome.begun, outcome.lease)

    async def _attempt(self, watch: Watch | None, earlier: Refused | None) -> Reply | Refused | CutShort:
        lease = await self._admit(watch, earlier)
        begun: Begun | Refusal | None = None
        taken = False  # by the reply, which gives back what it holds
        try:
            begun = await self._send(lease)
            if isinstance(begun, Refusal):
                return self._refused(begun, lease)
            if self._outlay.is_cut(begun.answer.reader.facts):
                return self._cut_short(begun, lease)
            reply = self._reply(begun, lease)
            taken = True
            return reply
        except Evicted as evicted:
            evicted.model = self._candidate.model.public_name
            self._asking.story.attempt_ended(Outcome.EVICTED, evicted.code)
            raise
        finally:
            if not taken:
                if isinstance(begun, Begun):
                    begun.answer.close()
                lease.release()

    async def _admit(self, watch: Watch | None, earlier: Refused | None) -> Lease:
        self.in_line = True
        try:
            return await acquire(self._parts.coordinator, self._parts.learning.limits, self._ask(earlier), watch)
        except Rejection as rejection:
            rejection.model = self._candidate.model.public_name
            self._asking.story.rejected(rejection, self._candidate.model)
            raise
        finally:
            self.in_line = False

    async def _send(self, lease: Lease) -> Begun | Refusal:
        target = target_of(self._candidate, lease)
        self._keys_tried.add(lease.credential_id)
        label = target.credential.label if target.credential else ""
        self._asking.story.granted(lease, self._candidate.model, label)
        adapter = self._parts.adapters[self._candidate.provider.dialect]
        deadlines = deadlines_of(self._candidate, lease)
        return await while_held(lease, begin(adapter, target, self._outlay.request, deadlines))

    def _ask(self, earlier: Refused | None) -> Ask:
        call, story, model = self._asking.call, self._asking.story, self._candidate.model
        max_wait_us = call.max_wait_us()
        return Ask(
            ticket_id=call.id if story.attempts == 0 else f"{call.id}/{story.attempts}",
            provider=self._candidate.provider.slug,
            model=model.key,
            klass=call.wanted_class(self._asking.parsed),
            flow=call.caller.flow,
            limits=call.caller.limits,
            owner=call.caller.owner,
            purpose=call.purpose,
            charge=self._outlay.charge,
            max_wait_us=None if max_wait_us is None else max(0, max_wait_us - story.waited_us),
            arrived_us=story.began_us,
            arrival=earlier.lease.arrival if earlier else None,
            re_enters=earlier is not None,
        )

    def _refused(self, refusal: Refusal, lease: Lease) -> Refused:
        self._asking.story.attempt_ended(outcome_of(refusal), str(refusal.kind))
        lease.settle(ending=ending_of(refusal))
        no = said_no(
            refusal,
            lease.rules,
            provider=self._candidate.provider.slug,
            model=self._candidate.model.public_name,
            now=datetime.fromtimestamp(self.clock.wall_us() / 1e6, UTC),
        )
        place = place_of(self._candidate, lease)
        self._parts.learning.refused(place, self._candidate.provider.vendor, refusal, lease)
        return Refused(no, self._parts.quota.refused(place, refusal, lease.rules), lease)

    def _cut_short(self, begun: Begun, lease: Lease) -> CutShort:
        facts = begun.answer.reader.facts
        begun.answer.close()
        lease.release(measured(facts), Ending.SERVED)
        self._asking.story.attempt_ended(Outcome.COMPLETED, "max_tokens_capped")
        self._asking.story.also_used = facts.usage
        return CutShort(begun, lease, self._outlay)

    def _reply(self, begun: Begun, lease: Lease) -> Reply:
        story, place = self._asking.story, place_of(self._candidate, lease)
        story.first_content()
        self._parts.quota.succeeded(place)
        self._parts.learning.served(place, self._candidate.provider.vendor, begun.answer.limits, lease)
        headers = [*begun.headers, *_own_headers(story, self._candidate), *self._outlay.warnings]
        stream = LiveAnswer(begun, lease, story, self._outlay, self._parts.tasks)
        return Reply(begun.answer.status, headers, stream, whole=begun.head if begun.over else None)


def _own_headers(story: Story, candidate: Candidate) -> list[tuple[str, str]]:
    return [
        ("x-relay-request-id", story.hearer.request_id),
        ("x-relay-provider", candidate.provider.slug),
        ("x-relay-model", candidate.model.public_name),
        ("x-relay-queue-ms", str(story.queue_ms)),
        ("x-relay-attempts", str(story.attempts)),
    ]
