"""What came back, judged: each answer by its code word, all together by the clock. Pure.

Nothing is proposed that was not measured: the number never exceeds the calls that really ran at the same moment. A
provider that works at `c` calls at a time lets `c` of them through as fast as one alone and keeps the rest waiting; one
that shares its strength among all slows all of them down, and gains as much as `c` calls at a time would. So the number
is the larger of the two: how many were as quick as one alone, and how many times faster all were than one by one.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

QUICK: Final = 1.5
"""As quick as one alone: up to so many times its time …"""
JITTER_MS: Final = 100
"""… and this on top, which of short calls is more."""
SHORTEST_MS: Final = 100
"""Of calls shorter than this alone, the way there and back says more than the provider's work."""
SCALES: Final = 0.8
"""So large a share of the best possible gain passes for all of it."""


class Verdict(enum.StrEnum):
    RIGHT = "right"  # its own code word
    MIXED = "mixed"  # another call's code word
    WRONG = "wrong"  # no code word at all
    FAILED = "failed"  # refused by the provider (even if a later try came through), or broken off
    NOT_SENT = "not_sent"  # the relay's own no: it says nothing about the provider


class Why(enum.StrEnum):
    """What the proposed number rests on."""

    MIXED = "mixed"
    NO_GAIN = "no_gain"
    REFUSED = "refused"
    QUEUES = "queues"
    SCALES = "scales"
    TOO_SHORT = "too_short"  # one alone is over before anything could be told
    UNKNOWN = "unknown"  # too little ran together to say anything


@dataclass(frozen=True, slots=True)
class Ended:
    """One call, ended. Times in whole ms; `started_us` and `ended_us` on one clock, None where it was never sent."""

    word: str
    verdict: Verdict
    said: str = ""
    why: str = ""  # a catalogue code or the provider's reason, where there was no answer
    queue_ms: int = 0
    started_us: int | None = None
    ended_us: int | None = None

    @property
    def took_ms(self) -> int | None:
        if self.started_us is None or self.ended_us is None:
            return None
        return (self.ended_us - self.started_us) // 1000


@dataclass(frozen=True, slots=True)
class Proposal:
    lanes: int | None
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    alone_ms: int | None  # one call without the others; None = it did not get through
    calls: tuple[Ended, ...]
    together_ms: int | None  # from the first start to the last end of those that got through
    peak: int  # so many of them ran at the same moment
    gain: float | None  # how many times faster than one after the other
    proposal: Proposal


def judge(word: str, said: str, words: Iterable[str]) -> Verdict:
    """By what the model said; capitals, hyphens and what stands around a word do not count."""
    text = _bare(said)
    if any(_bare(other) in text for other in words if other != word):
        return Verdict.MIXED
    return Verdict.RIGHT if _bare(word) in text else Verdict.WRONG


def measure(alone_ms: int | None, calls: Sequence[Ended]) -> Measured:
    through = [call for call in calls if call.verdict in (Verdict.RIGHT, Verdict.WRONG, Verdict.MIXED)]
    together_ms = _from_first_to_last_ms(through)
    gain = None
    if alone_ms is not None and together_ms:
        gain = len(through) * alone_ms / together_ms
    peak = peak_of(through)
    return Measured(
        alone_ms=alone_ms,
        calls=tuple(calls),
        together_ms=together_ms,
        peak=peak,
        gain=gain,
        proposal=propose(calls, alone_ms, peak, gain),
    )


def propose(calls: Sequence[Ended], alone_ms: int | None, peak: int, gain: float | None) -> Proposal:
    """How many lanes, as far as this trial can tell. `peak`: of the calls that got through."""
    refused = any(call.verdict is Verdict.FAILED for call in calls)
    if any(call.verdict is Verdict.MIXED for call in calls):
        return Proposal(1, Why.MIXED)
    if alone_ms is None or (peak < 2 and not refused):
        return Proposal(None, Why.UNKNOWN)
    if peak < 2:  # the others were refused: one is what it bears
        return Proposal(1, Why.REFUSED)
    if alone_ms < SHORTEST_MS:
        return Proposal(None, Why.TOO_SHORT)
    at_a_time = min(peak, max(_quick_ones(calls, alone_ms), round(gain or 0)))
    if at_a_time >= SCALES * peak:
        return Proposal(peak, Why.REFUSED if refused else Why.SCALES)
    return Proposal(max(1, at_a_time), Why.NO_GAIN if at_a_time <= 1 else Why.QUEUES)


def peak_of(calls: Iterable[Ended]) -> int:
    """The most that ran at the same moment. One that ends as another starts does not overlap it."""
    changes: list[tuple[int, int]] = []
    for call in calls:
        if call.started_us is not None and call.ended_us is not None:
            changes += [(call.started_us, 1), (call.ended_us, -1)]
    running = peak = 0
    for _at_us, change in sorted(changes):
        running += change
        peak = max(peak, running)
    return peak


def _quick_ones(calls: Iterable[Ended], alone_ms: int) -> int:
    limit_ms = max(QUICK * alone_ms, alone_ms + JITTER_MS)
    answered = (call for call in calls if call.verdict in (Verdict.RIGHT, Verdict.WRONG))
    return sum(1 for call in answered if call.took_ms is not None and call.took_ms <= limit_ms)


def _from_first_to_last_ms(calls: Sequence[Ended]) -> int | None:
    starts = [call.started_us for call in calls if call.started_us is not None]
    ends = [call.ended_us for call in calls if call.ended_us is not None]
    return (max(ends) - min(starts)) // 1000 if starts and ends else None


def _bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
