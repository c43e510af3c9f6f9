"""One request on its way to one model: what it is charged, with which cap it is sent, and what it teaches.

A caller's cap far above what it ever uses is lowered where the profile allows it (SCHEDULING §5): whole answers only,
unless streams are opted in too, and one answer only (with several, nobody can say which of them the cap would cut). An
answer that ended because of our cap is asked for once more with the caller's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol

from providers.contract import AnswerFacts, ChatRequest
from relay_project.api.chat_request import ParsedChat
from relay_project.snapshot import ModelEntry
from scheduling.core.estimate import estimate_tokens
from scheduling.core.spec import ChargeRule
from scheduling.core.tickets import Charge


class Lesson(NamedTuple):
    """The figures of one answer that ended well, as the provider reported them."""

    model: str  # key
    user: str
    rule: ChargeRule
    charge: Charge
    estimated_prompt: int  # without the learned factor
    prompt_tokens: int
    completion_tokens: int  # of all choices
    choices: int


class Known(Protocol):
    """What has been learned so far."""

    def prompt_tokens(self, model: str, estimated: int) -> int: ...

    def expected_answer(self, model: str, user: str) -> int | None: ...

    def lowered_cap(self, model: str, user: str, cap_tokens: int, *, stream: bool) -> int | None: ...


class Outlay:
    def __init__(self, known: Known, teach: Callable[[Lesson], None], parsed: ParsedChat, model: ModelEntry, user: str):
        self._teach = teach
        self._parsed = parsed
        self._model = model.key
        self._user = user
        self._estimated = estimate_tokens(parsed.prompt_text())
        self._prompt_tokens = known.prompt_tokens(model.key, self._estimated)
        self.lowered_cap = self._lowered(known)
        self.charge = self._charge(known, model)
        self._cut_short = False

    @property
    def request(self) -> ChatRequest:
        """As it is to be sent."""
        if self.lowered_cap is None:
            return self._parsed.request
        return replace(self._parsed.request, cap_tokens=self.lowered_cap)

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """For the answer's headers: a lowered cap that the caller may notice."""
        if self.lowered_cap is None or not (self._parsed.request.stream or self._cut_short):
            return []
        return [("x-relay-warnings", f"max_tokens_capped={self.lowered_cap}")]

    def is_cut(self, facts: AnswerFacts) -> bool:
        """Whether our own cap ended a whole answer that would have gone on."""
        if self.lowered_cap is None or self._parsed.request.stream or facts.finish_reason != "length":
            return False
        produced = None if facts.usage is None else facts.usage.completion_tokens
        self._cut_short = produced is None or produced >= self.lowered_cap
        return self._cut_short

    def with_own_cap(self) -> Outlay:
        """The same request as the caller sent it."""
        own = object.__new__(Outlay)
        own.__dict__.update(self.__dict__, lowered_cap=None, _cut_short=False)
        own.charge = replace(self.charge, cap_tokens=self._parsed.cap_tokens or 0)
        return own

    def learn_from(self, facts: AnswerFacts, rule: ChargeRule) -> None:
        """A whole answer has ended. One that our cap cut says nothing of how long it would have become."""
        usage = facts.usage
        if usage is None or usage.completion_tokens is None or self._was_capped(facts):
            return
        self._teach(
            Lesson(
                self._model,
                self._user,
                rule,
                self.charge,
                self._estimated,
                usage.prompt_tokens or 0,
                usage.completion_tokens,
                self._parsed.choices,
            )
        )

    def _was_capped(self, facts: AnswerFacts) -> bool:
        return self.lowered_cap is not None and facts.finish_reason == "length"

    def _lowered(self, known: Known) -> int | None:
        cap_tokens = self._parsed.cap_tokens
        if cap_tokens is None or self._parsed.choices > 1:
            return None
        return known.lowered_cap(self._model, self._user, cap_tokens, stream=self._parsed.request.stream)

    def _charge(self, known: Known, model: ModelEntry) -> Charge:
        if self._parsed.cap_tokens is not None:
            return Charge(self._prompt_tokens, self.lowered_cap or self._parsed.cap_tokens, cap_is_callers=True)
        expected = known.expected_answer(self._model, self._user)
        default = math.inf if model.max_output is None else model.max_output
        cap_tokens = model.max_output or 0 if expected is None else int(min(expected, default))
        return Charge(self._prompt_tokens, cap_tokens * self._parsed.choices)
