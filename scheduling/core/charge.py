"""The provider's ruler: what a request is charged, when, and what is given back.

A rule is a row. Every request is at least one token large, so every ticket of a model uses every window of its model.
Where the caller named no cap, a guessed one never makes a request too large: it is charged the whole limit at most and
then runs alone.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from scheduling.core.spec import ChargeRule, Measure
from scheduling.core.tickets import Actual, Charge


class Ending(enum.StrEnum):
    """How a lease ended, as far as the ruler cares."""

    SERVED = "served"
    REFUSED = "refused"  # the provider said no at its door
    FAILED = "failed"  # failed, cut or cancelled after sending
    UNSENT = "unsent"  # never sent: no trace


Estimate = Callable[[Charge], int]
Measured = Callable[[Actual], int | None]


@dataclass(frozen=True, slots=True)
class Rule:
    arrival: Mapping[Measure, Estimate]  # a measure that is missing is not charged
    actual: Mapping[Measure, Measured]  # a measure that is missing keeps its arrival charge
    settles_failed: bool = False  # failed, cut, cancelled: to what was measured; else the arrival charge stays
    produced: frozenset[Measure] = frozenset()  # charged as it is produced: reserved while it runs, stamped at the end


def _prompt(charge: Charge) -> int:
    return charge.prompt_tokens


def _cap(charge: Charge) -> int:
    return charge.cap_tokens


def _prompt_and_cap(charge: Charge) -> int:
    return charge.prompt_tokens + charge.cap_tokens


def _larger(charge: Charge) -> int:
    return max(charge.prompt_tokens, charge.cap_tokens)


def _actual_prompt(actual: Actual) -> int | None:
    return actual.prompt_tokens


def _actual_uncached(actual: Actual) -> int | None:
    if actual.prompt_tokens is None:
        return None
    return max(0, actual.prompt_tokens - (actual.cached_prompt_tokens or 0))


def _actual_output(actual: Actual) -> int | None:
    return actual.completion_tokens


def _actual_total(actual: Actual) -> int | None:
    if actual.prompt_tokens is None or actual.completion_tokens is None:
        return None
    return actual.prompt_tokens + actual.completion_tokens


_BOTH: Final[Mapping[Measure, Estimate]] = {
    Measure.INPUT_TOKENS: _prompt,
    Measure.OUTPUT_TOKENS: _cap,
    Measure.TOTAL_TOKENS: _prompt_and_cap,
}
_MEASURED: Final[Mapping[Measure, Measured]] = {
    Measure.INPUT_TOKENS: _actual_prompt,
    Measure.OUTPUT_TOKENS: _actual_output,
    Measure.TOTAL_TOKENS: _actual_total,
}

RULES: Final[Mapping[ChargeRule, Rule]] = {
    ChargeRule.RESERVE_AND_SETTLE: Rule(_BOTH, _MEASURED, settles_failed=True),
    ChargeRule.PROMPT_PLUS_MAX: Rule(_BOTH, {}),
    ChargeRule.MAX_OF: Rule({**_BOTH, Measure.TOTAL_TOKENS: _larger}, {}),
    ChargeRule.INPUT_OUTPUT: Rule(
        _BOTH,
        {**_MEASURED, Measure.INPUT_TOKENS: _actual_uncached},
        settles_failed=True,
        produced=frozenset({Measure.OUTPUT_TOKENS}),
    ),
    ChargeRule.INPUT_ONLY: Rule(
        {Measure.INPUT_TOKENS: _prompt, Measure.TOTAL_TOKENS: _prompt},
        {Measure.INPUT_TOKENS: _actual_prompt, Measure.TOTAL_TOKENS: _actual_prompt},
    ),
    ChargeRule.REQUESTS_ONLY: Rule({}, {}),
}


def uses(rule: ChargeRule, measure: Measure) -> bool:
    """Whether this rule charges that measure at all."""
    return measure is Measure.REQUESTS or measure in RULES[rule].arrival


def arrival_amount(rule: ChargeRule, measure: Measure, charge: Charge, limit: int) -> int:
    """What is charged at the start. A cap the caller did not set fills the limit at most."""
    if measure is Measure.REQUESTS:
        return 1
    amount = max(1, RULES[rule].arrival[measure](charge))
    return amount if charge.cap_is_callers else min(amount, max(limit, _certain_amount(rule, measure, charge)))


def too_large(rule: ChargeRule, measure: Measure, charge: Charge, limit: int) -> bool:
    """Larger than the limit on its own, by what is certain: the prompt, and a cap only if the caller set it."""
    return measure is not Measure.REQUESTS and _certain_amount(rule, measure, charge) > limit


def largest_cap(rule: ChargeRule, measure: Measure, charge: Charge, limit: int) -> int:
    """The largest cap with which this prompt would fit the limit; 0 if none would."""
    if too_large(rule, measure, Charge(prompt_tokens=charge.prompt_tokens), limit):
        return 0
    without_prompt = RULES[rule].arrival[measure] is not _prompt_and_cap
    return limit if without_prompt else limit - charge.prompt_tokens


def settled_amount(rule: ChargeRule, measure: Measure, ending: Ending, actual: Actual) -> int | None:
    """What the charge becomes at the end; None = it stays as it was."""
    if measure is Measure.REQUESTS:
        return None
    if ending is Ending.REFUSED:
        return 0
    row = RULES[rule]
    if measure not in row.actual or (ending is Ending.FAILED and not row.settles_failed):
        return None
    return row.actual[measure](actual)


def _certain_amount(rule: ChargeRule, measure: Measure, charge: Charge) -> int:
    certain = charge if charge.cap_is_callers else Charge(prompt_tokens=charge.prompt_tokens)
    return max(1, RULES[rule].arrival[measure](certain))
