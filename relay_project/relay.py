"""THE USE CASE, read it first: authenticate → resolve → admit → attempt → stream → settle.

Authentication has been done at the edge (`relay_project.api.authentication`); what arrives here is a `Call`.

    parse      the caller's bytes, checked field by field                  api/chat_request.py
    resolve    a role or model name → candidates in order                  resolution.py
    admit      one atomic decision over all lanes of a candidate           turn.py, scheduling/coordinator.py
    attempt    one HTTP call; refused before content, the next candidate   turn.py, attempts.py
    stream     bytes as they came, a copy is read                          live_answer.py
    settle     lease given back, one usage row, however it ends            live_answer.py, story.py

Whatever happens on the way, the story is closed exactly once and nothing stays held.
"""

from __future__ import annotations

import asyncio

from relay_project.api.chat_request import ParsedChat
from relay_project.calls import Call, Reply
from relay_project.errors import LeftOut, NothingToTry, ProviderSaidNo
from relay_project.patience import Impatient, take_within
from relay_project.problems import problem_of
from relay_project.refusal_codes import another_may_answer
from relay_project.rendering import words_of
from relay_project.resolution import Asked, Candidate, Resolved, Turns, resolve
from relay_project.story import Story
from relay_project.turn import MAX_ATTEMPTS, Asking, Parts, Turn
from scheduling.core.estimate import estimate_tokens
from scheduling.errors import Rejection

__all__ = ["Parts", "Relay"]

No = Rejection | ProviderSaidNo

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


class Relay:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._clock = parts.tasks.clock
        self._turns = Turns()

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

    def refuse(self, call: Call, error: Exception) -> None:
        """A known caller's request that the edge has refused leaves its row too."""
        Story(call, self._parts.books, self._clock).failed(error)

    async def _answer(self, call: Call, story: Story) -> Reply:
        parsed = call.parse()
        story.stream = parsed.request.stream
        story.prompt_text = parsed.prompt_text
        story.klass = call.wanted_class(parsed).name.lower()
        resolved = resolve(self._parts.configuration(), parsed.model, self._asked(parsed))
        story.role = resolved.role
        return await self._go_through(resolved, Asking(call, parsed, story))

    async def _go_through(self, resolved: Resolved, asking: Asking) -> Reply:
        """The candidates in order. One that would keep the caller beyond the role's patience is left for the next;
        if all would, the one that starts first is waited for."""
        noes: list[tuple[Candidate, No]] = []
        slow: list[Impatient] = []
        candidates = sorted(resolved.candidates, key=lambda one: self._parts.quota.is_tripped(one.model.key))
        for number, candidate in enumerate(candidates):
            others = number + 1 < len(candidates)
            turn = self._turn(asking, candidate, resolved.patience_s if others or slow else None)
            try:
                return await take_within(turn, asking.call.watch, resolved.patience_s if others or slow else None)
            except Impatient as impatient:
                slow.append(impatient.of(candidate))
            except (Rejection, ProviderSaidNo) as no:
                noes.append((candidate, no))
                if not _may_move_on(no) or asking.story.attempts >= MAX_ATTEMPTS:
                    break
        else:
            if slow:
                return await self._wait_for(min(slow), asking, noes)
        raise _to_tell(resolved, noes, asking)

    async def _wait_for(self, slow: Impatient, asking: Asking, noes: list[tuple[Candidate, No]]) -> Reply:
        """Nobody can start within the role's patience: the one that starts first, for as long as its line allows."""
        return await self._turn(asking, slow.candidate, None).take(asking.call.watch)

    def _turn(self, asking: Asking, candidate: Candidate, patience_s: float | None) -> Turn:
        return Turn(self._parts, asking, candidate, patience_s=patience_s)

    def _asked(self, parsed: ParsedChat) -> Asked:
        return Asked(self._turns.take, lambda: estimate_tokens(parsed.prompt_text()), parsed.cap_tokens)


def _may_move_on(no: No) -> bool:
    if isinstance(no, ProviderSaidNo):
        return another_may_answer(no.refusal)
    return no.code in _NOT_NOW


def _to_tell(resolved: Resolved, noes: list[tuple[Candidate, No]], asking: Asking) -> Exception:
    """One no is told as it is. Of several: if all are used up, one answer for the role with the earliest release and,
    per candidate, why and until when; else the one whose time comes first, without times the last."""
    only = [no for _candidate, no in noes]
    if resolved.role and len(only) > 1 and all(no.code == "insufficient_quota" for no in only):
        return _all_used_up(resolved, noes, asking)
    timed = [(time_s, number) for number, no in enumerate(only) if (time_s := problem_of(no).retry_after_s) is not None]
    return only[min(timed)[1]] if timed else only[-1]


def _all_used_up(resolved: Resolved, noes: list[tuple[Candidate, No]], asking: Asking) -> NothingToTry:
    language = asking.call.hearer.language
    left_out = [*resolved.left_out]
    for candidate, no in noes:
        problem = problem_of(no)
        words = words_of(problem, language)
        left_out.append(LeftOut(candidate.model.public_name, problem.code, words, problem.retry_after_s))
    return NothingToTry("insufficient_quota", left_out, model=resolved.role)
