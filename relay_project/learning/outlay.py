"""One request on its way to one model: what it is charged, with which cap it is sent, and what it teaches.

A caller's cap far above what it ever uses is lowered where the profile allows it (SCHEDULING §5): whole answers only,
unless streams are opted in too, and one answer only (with several, nobody can say which of them the cap would cut). An
answer that ended because of our cap is asked for once more with the caller's own.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import NamedTuple, Protocol

from providers.contract import AnswerFacts, ChatRequest
from relay_project.api.chat_request import ParsedChat
from relay_project.snapshot import ModelEntry
from scheduling.core.spec import ChargeRule
from scheduling.core.tickets import Charge


class Request(NamedTuple):
    """One request, of one user, for one model."""

    parsed: ParsedChat
    model: ModelEntry
    user: str
    estimated_prompt: int  # tokens, without the learned factor; 0 = nobody counts them


class Lesson(NamedTuple):
    """The figures of one answer that ended well, as the provider reported them."""

    asked: Request
    rule: ChargeRule
    charge: Charge
    prompt_tokens: int
    completion_tokens: int  # of all choices


class Known(Protocol):
    """What has been learned so far."""

    def prompt_tokens(self, model: str, estimated: int) -> int: ...

    def expected_answer(self, model: str, user: str) -> int | None: ...

    def lowered_cap(self, model: str, user: str, cap_tokens: int, *, stream: bool) -> int | None: ...


class Outlay:
    def __init__(self, known: Known, teach: Callable[[Lesson], object], asked: Request) -> None:
        self._teach = teach
        self._asked = asked
        self._cut_short = False
        self.lowered_cap = _lowered_cap(known, asked)
        self.charge = _charge(known, asked, self.lowered_cap)

    @property
    def request(self) -> ChatRequest:
        """As it is to be sent."""
        request = self._asked.parsed.request
        return request if self.lowered_cap is None else replace(request, cap_tokens=self.lowered_cap)

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """For the answer's headers: a lowered cap that the caller may notice."""
        if self.lowered_cap is None or not (self._asked.parsed.request.stream or self._cut_short):
            return []
        return [("x-relay-warnings", f"max_tokens_capped={self.lowered_cap}")]

    def is_cut(self, facts: AnswerFacts) -> bool:
        """Whether our own cap ended a whole answer that would have gone on."""
        if self.lowered_cap is None or self._asked.parsed.request.stream or facts.finish_reason != "length":
            return False
        produced = None if facts.usage is None else facts.usage.completion_tokens
        self._cut_short = produced is None or produced >= self.lowered_cap
        return self._cut_short

    def with_own_cap(self) -> Outlay:
        """The same request as its caller sent it."""
        own = copy(self)
        own.lowered_cap, own._cut_short = None, False
        own.charge = replace(self.charge, cap_tokens=self._asked.parsed.cap_tokens or 0)
        return own

    def learn_from(self, facts: AnswerFacts, rule: ChargeRule) -> None:
        """A whole answer has ended. One that our cap cut says nothing of how long it would have become."""
        usage = facts.usage
        was_capped = self.lowered_cap is not None and facts.finish_reason == "length"
        if usage is None or usage.completion_tokens is None or was_capped:
            return
        prompt_tokens = usage.prompt_tokens or 0
        self._teach(Lesson(self._asked, rule, self.charge, prompt_tokens, usage.completion_tokens))


def _lowered_cap(known: Known, asked: Request) -> int | None:
    cap_tokens = asked.parsed.cap_tokens
    if cap_tokens is None or asked.parsed.choices > 1:
        return None
    return known.lowered_cap(asked.model.key, asked.user, cap_tokens, stream=asked.parsed.request.stream)


def _charge(known: Known, asked: Request, lowered_cap: int | None) -> Charge:
    prompt_tokens = known.prompt_tokens(asked.model.key, asked.estimated_prompt)
    if asked.parsed.cap_tokens is not None:
        return Charge(prompt_tokens, lowered_cap or asked.parsed.cap_tokens, cap_is_callers=True)
    return Charge(prompt_tokens, _likely_answer(known, asked) * asked.parsed.choices)


def _likely_answer(known: Known, asked: Request) -> int:
    """Where the caller sets no cap: what this user's answers of this model come to, else all that the model may say."""
    expected, most = known.expected_answer(asked.model.key, asked.user), asked.model.max_output
    if expected is None:
        return most or 0
    return expected if most is None else min(expected, most)
