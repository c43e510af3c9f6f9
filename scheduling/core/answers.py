"""How long answers come out, per model and user, and what that makes of a cap.

Providers charge the cap, not the answer, when a request arrives; a cap far above use buys nothing and empties the
window. So the lengths are remembered, as counts in buckets: exact up to 64 tokens, above that 32 buckets an octave, so
a length is known to 1 in 32 (3 %), always rounded up. Only the last 500 to 1,000 answers count (two generations of
500), only of the 2,000 pairs of model and user that were heard of last: memory is bounded whatever comes.

Bound: if the next answer is drawn like the last ones, a cap at p99 + margin cuts at most 1 in 100, and the margin makes
that rarer; whoever lowers a cap calls once more with the caller's own if the answer ended for length.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Final

from scheduling.core.moment import ceil_div

BUCKET_BITS: Final = 6
"""Lengths keep that many leading bits: 2^6 are exact."""
GENERATION: Final = 500
PAIRS_KEPT: Final = 2_000
ENOUGH_TO_GUESS: Final = 20
"""Answers after which p95 stands in for a cap the caller did not name."""
ENOUGH_TO_LOWER: Final = 100
"""Answers after which a cap may be lowered: fewer have no 99th in a hundred."""
MARGIN_AT_LEAST: Final = 64
"""Tokens; the margin is a quarter of p99 and no less than this."""
FAR_ABOVE: Final = 2
"""A cap is far above use from this many times the lowered one on; nearer ones are left alone."""


@dataclass(frozen=True, slots=True)
class Bucket:
    upto_tokens: int
    count: int


@dataclass(slots=True)
class _Lengths:
    """The lengths of one pair: this generation's and the one's before."""

    current: Counter[int] = field(default_factory=Counter)
    before: Counter[int] = field(default_factory=Counter)

    def add(self, tokens: int) -> None:
        if self.current.total() >= GENERATION:
            self.before, self.current = self.current, Counter()
        self.current[_rounded_up(tokens)] += 1

    def buckets(self) -> tuple[Bucket, ...]:
        both = self.current + self.before
        return tuple(Bucket(upto, both[upto]) for upto in sorted(both))


class AnswerLengths:
    """Answer lengths of all models and users of this process."""

    def __init__(self, pairs_kept: int = PAIRS_KEPT) -> None:
        self._pairs: OrderedDict[tuple[str, str], _Lengths] = OrderedDict()
        self._pairs_kept = pairs_kept

    def record(self, model: str, user: str, completion_tokens: int) -> None:
        """An answer ended by itself with that many tokens (as reported, not as estimated)."""
        pair = self._pairs.setdefault((model, user), _Lengths())
        pair.add(completion_tokens)
        self._pairs.move_to_end((model, user))
        if len(self._pairs) > self._pairs_kept:
            self._pairs.popitem(last=False)

    def expected(self, model: str, user: str) -> int | None:
        """p95, to charge where the caller named no cap; None before 20 answers."""
        return self._percentile(model, user, 95, enough=ENOUGH_TO_GUESS)

    def lowered_cap(self, model: str, user: str, cap_tokens: int) -> int | None:
        """p99 + margin, if the caller's cap is far above that; None = leave the cap alone."""
        p99 = self._percentile(model, user, 99, enough=ENOUGH_TO_LOWER)
        if p99 is None:
            return None
        lowered = p99 + max(MARGIN_AT_LEAST, ceil_div(p99, 4))
        return lowered if cap_tokens >= FAR_ABOVE * lowered else None

    def distribution(self, model: str, user: str) -> tuple[Bucket, ...]:
        """For the admin: how many answers came to at most so many tokens, in rising order."""
        pair = self._pairs.get((model, user))
        return pair.buckets() if pair else ()

    def _percentile(self, model: str, user: str, percent: int, *, enough: int) -> int | None:
        buckets = self.distribution(model, user)
        total = sum(bucket.count for bucket in buckets)
        if total < enough:
            return None
        missing = ceil_div(total * percent, 100)
        for bucket in buckets:
            missing -= bucket.count
            if missing <= 0:
                return bucket.upto_tokens
        raise AssertionError("the buckets hold the total")


def _rounded_up(tokens: int) -> int:
    """The upper edge of the bucket `tokens` falls in."""
    grain = 1 << max(0, (tokens - 1).bit_length() - BUCKET_BITS)
    return ceil_div(tokens, grain) * grain
