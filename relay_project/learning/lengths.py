"""Answer lengths for the hot path: `AnswerLengths`, with its percentiles kept until there is enough news.

A percentile walks some hundred buckets; a call must not. So what was worked out stands until 16 more answers of that
model and user have ended (until 20 are known, until the next one).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scheduling.core.answers import PAIRS_KEPT, AnswerLengths

LOOK_AGAIN_AFTER: Final = 16
NOTHING_KNOWN: Final = 0

Pair = tuple[str, str]  # model key, user


class Lengths:
    def __init__(self) -> None:
        self._lengths = AnswerLengths()
        self._expected: dict[Pair, int] = {}
        self._news: dict[Pair, int] = {}  # answers since it was worked out

    def expected(self, model: str, user: str) -> int | None:
        """p95 of that model and user; None as long as too little is known."""
        known = self._expected.get((model, user))
        if known is None:
            known = self._work_out(model, user)
        return known or None

    def lowered_cap(self, model: str, user: str, cap_tokens: int) -> int | None:
        """p99 and a margin where the cap is far above that; None = leave it."""
        return self._lengths.lowered_cap(model, user, cap_tokens)

    def record(self, model: str, user: str, tokens: int) -> None:
        self._lengths.record(model, user, tokens)
        pair = (model, user)
        news = self._news[pair] = self._news.get(pair, 0) + 1
        if news >= LOOK_AGAIN_AFTER or self._expected.get(pair) == NOTHING_KNOWN:
            self._expected.pop(pair, None)

    def start_from(self, lengths: AnswerLengths) -> None:
        """Take over what earlier runs have seen, before anything was recorded here."""
        self._lengths = lengths
        self._expected.clear()

    def _work_out(self, model: str, user: str) -> int:
        if len(self._expected) >= PAIRS_KEPT:  # whoever is still around is worked out again
            self._expected.clear()
            self._news.clear()
        self._news[model, user] = 0
        known = self._expected[model, user] = self._lengths.expected(model, user) or NOTHING_KNOWN
        return known


def lengths_of(answers: Iterable[tuple[str, str, int]]) -> AnswerLengths:
    """Lengths from (model key, user, tokens), oldest first."""
    lengths = AnswerLengths()
    for model, user, tokens in answers:
        lengths.record(model, user, tokens)
    return lengths
