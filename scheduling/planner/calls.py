"""A call as it travels: from a caller, over a road, to the provider, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """One try of one turn. How long it takes and what it answers is settled beforehand: the same in every row."""

    id: str
    user: str
    prompt_tokens: int
    cap_tokens: int  # max_tokens
    answer_tokens: int  # what the model would say without a cap
    first_token_us: int
    run_us: int
    streams: bool

    @property
    def completion_tokens(self) -> int:
        return min(self.answer_tokens, self.cap_tokens)

    @property
    def ends_for_length(self) -> bool:
        return self.answer_tokens > self.cap_tokens


@dataclass(frozen=True, slots=True)
class No:
    """Refused by the provider (`by` is the limit's name) or rejected by the relay (`by` is the code)."""

    by: str
    retry_after_us: int | None = None


class Caller(Protocol):
    def on_first_token(self) -> None:
        """Only of calls that stream."""

    def on_done(self) -> None: ...

    def on_no(self, no: No) -> None: ...


class Road(Protocol):
    def go(self, call: Call, caller: Caller) -> None:
        """Bring the call to the provider, now or later; the caller hears of the end exactly once."""
