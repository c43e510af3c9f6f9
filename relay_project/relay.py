"""THE USE CASE, read it first: authenticate → resolve → admit → attempt → stream → settle.

Authentication has been done at the edge (`relay_project.api.authentication`); what arrives here is a `Call`.

    parse      the caller's bytes, checked field by field                  api/chat_request.py
    resolve    a role or model name → candidates in order                  resolution.py
    admit      one atomic decision over all lanes of a candidate           scheduling/coordinator.py
    attempt    one HTTP call; refused before content, the next candidate   attempts.py
    stream     bytes as they came, a copy is read                          live_answer.py
    settle     lease given back, one usage row, however it ends            live_answer.py, story.py

Whatever happens on the way, the story is closed exactly once and nothing stays held.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from scheduling.coordinator import Coordinator, Lease
from scheduling.core.charge import Ending
from scheduling.core.estimate import estimate_tokens

from providers.contract import Adapter, Deadlines, Refusal, Target
from relay_project.api.chat_request import ParsedChat
from relay_project.attempts import Begun, begin
from relay_project.calls import Call, Reply
from relay_project.errors import ProviderSaidNo
from relay_project.live_answer import LiveAnswer
from relay_project.refusal_codes import another_may_answer, outcome_of, said_no
from relay_project.resolution import Candidate, resolve
from relay_project.snapshot import Configuration
from relay_project.story import Books, Story
from relay_project.tasks import TaskOwner
from scheduling.core.tickets import Ask, Charge
from scheduling.errors import Rejection

# Our own no's that another candidate's lanes may not share.
_NOT_NOW = frozenset(
    {
        "provider_queue_full",
        "provider_queue_timeout",
        "queue_evicted",
        "request_exceeds_limit",
        "insufficient_quota",
        "lane_profile_missing",
        "provider_paused",
    }
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the use case is made of; see wiring.py."""

    configuration: Callable[[], Configuration]
    coordinator: Coordinator
    adapters: Mapping[str, Adapter]  # by dialect
    books: Books
    tasks: TaskOwner


class Relay:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._clock = parts.tasks.clock

    async def answer(self, call: Call) -> Reply:
        """Raises `RelayError` or `Rejection`; whoever takes the reply must exhaust or close its stream."""
        story = Story(call, self._parts.books, self._clock)
        try:
            return await self._answer(call, story)
        except asyncio.CancelledError:
            story.client_gone()
            raise
        except Exception as error:
            story.failed(error)
            raise

    async def _answer(self, call: Call, story: Story) -> Reply:
        parsed = call.parse()
        story.stream = parsed.request.stream
        story.prompt_text = parsed.prompt_text
        story.klass = call.wanted_class(parsed).name.lower()
        resolved = resolve(self._parts.configuration(), parsed.model)
        story.role = resolved.role
        noes: list[Rejection | ProviderSaidNo] = []
        for candidate in resolved.candidates:
            try:
                return await self._try(candidate, call, parsed, story)
            except (Rejection, ProviderSaidNo) as no:
                noes.append(no)
                if not _may_move_on(no):
                    break
        raise _to_tell(noes)

    async def _try(self, candidate: Candidate, call: Call, parsed: ParsedChat, story: Story) -> Reply:
        """One candidate; a stale connection is no answer, so that once it is sent again, through admission."""
        refused = await self._attempt(candidate, call, parsed, story)
        if isinstance(refused, ProviderSaidNo) and refused.refusal.safe_to_resend:
            refused = await self._attempt(candidate, call, parsed, story)
        if isinstance(refused, ProviderSaidNo):
            raise refused
        return refused

    async def _attempt(
        self, candidate: Candidate, call: Call, parsed: ParsedChat, story: Story
    ) -> Reply | ProviderSaidNo:
        lease = await self._admit(candidate, call, parsed, story)
        begun: Begun | Refusal | None = None
        try:
            target = _target(candidate, lease)
            story.granted(lease, candidate.model, target.credential.label if target.credential else "")
            adapter = self._parts.adapters[candidate.provider.dialect]
            begun = await begin(adapter, target, parsed.request, _deadlines(candidate, lease))
            if isinstance(begun, Refusal):
                return self._refused(begun, candidate, lease, story)
        finally:
            if not isinstance(begun, Begun):
                lease.release()
        return self._reply(begun, lease, story, candidate)

    async def _admit(self, candidate: Candidate, call: Call, parsed: ParsedChat, story: Story) -> Lease:
        try:
            return await self._parts.coordinator.acquire(self._ask(candidate, call, parsed, story))
        except Rejection as rejection:
            rejection.model = candidate.model.public_name
            story.rejected(rejection)
            raise

    def _ask(self, candidate: Candidate, call: Call, parsed: ParsedChat, story: Story) -> Ask:
        max_wait_us = call.max_wait_us()
        return Ask(
            ticket_id=call.id if story.attempts == 0 else f"{call.id}/{story.attempts}",
            provider=candidate.provider.slug,
            model=candidate.model.key,
            klass=call.wanted_class(parsed),
            flow=call.caller.flow,
            limits=call.caller.limits,
            owner=call.caller.owner,
            purpose=call.purpose,
            charge=self._charge(candidate, parsed),
            max_wait_us=None if max_wait_us is None else max(0, max_wait_us - story.waited_us),
        )

    def _charge(self, candidate: Candidate, parsed: ParsedChat) -> Charge:
        return Charge(
            prompt_tokens=estimate_tokens(parsed.prompt_text()),
            cap_tokens=parsed.cap_tokens or (candidate.model.max_output or 0) * parsed.choices,
            cap_is_callers=parsed.cap_tokens is not None,
        )

    def _refused(self, refusal: Refusal, candidate: Candidate, lease: Lease, story: Story) -> ProviderSaidNo:
        story.attempt_ended(outcome_of(refusal), str(refusal.kind))
        lease.settle(ending=Ending.FAILED if refusal.status is None else Ending.REFUSED)
        return said_no(
            refusal,
            lease.rules,
            provider=candidate.provider.slug,
            model=candidate.model.public_name,
            now=datetime.fromtimestamp(self._clock.wall_us() / 1e6, UTC),
        )

    def _reply(self, begun: Begun, lease: Lease, story: Story, candidate: Candidate) -> Reply:
        story.first_content()
        headers = [
            *begun.answer.headers,
            ("x-relay-request-id", story.hearer.request_id),
            ("x-relay-provider", candidate.provider.slug),
            ("x-relay-model", candidate.model.public_name),
            ("x-relay-queue-ms", str(story.queue_ms)),
            ("x-relay-attempts", str(story.attempts)),
        ]
        return Reply(begun.answer.status, headers, LiveAnswer(begun, lease, story, self._parts.tasks))


def _target(candidate: Candidate, lease: Lease) -> Target:
    provider = candidate.provider
    return Target(
        provider=provider.slug,
        vendor=provider.vendor,
        base_url=provider.base_url,
        model=candidate.model.upstream_name,
        credential=provider.credentials.get(lease.credential_id or ""),
        headers=provider.headers,
    )


def _deadlines(candidate: Candidate, lease: Lease) -> Deadlines:
    silence_s = candidate.provider.silence_s
    return Deadlines(first_byte_s=silence_s, idle_s=silence_s, total_s=lease.rules.run_timeout_us / 1e6)


def _may_move_on(no: Rejection | ProviderSaidNo) -> bool:
    if isinstance(no, ProviderSaidNo):
        return another_may_answer(no.refusal)
    return no.code in _NOT_NOW


def _to_tell(noes: list[Rejection | ProviderSaidNo]) -> Exception:
    """Of several no's, the one whose time comes first; without times the last."""
    timed = [(time_s, number) for number, no in enumerate(noes) if (time_s := _time_of(no)) is not None]
    return noes[min(timed)[1]] if timed else noes[-1]


def _time_of(no: Rejection | ProviderSaidNo) -> float | None:
    if isinstance(no, ProviderSaidNo):
        return no.retry_after_s
    return None if no.told.retry_after_us is None else no.told.retry_after_us / 1e6
