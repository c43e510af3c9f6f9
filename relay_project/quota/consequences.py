"""Refusal → what it closes, and until when. Pure, tables; total over the kinds (a test walks them).

A *brief* closing is one more "not before". A *used-up* closing drops the target until it is back. A fault closes
nothing by itself: see `breaker.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from providers.contract import Refusal, RefusalKind, RefusalScope
from scheduling.core.spec import LaneRules, OnBriefRefusal, Scope

DAY_S = 86_400.0
ACCOUNT_WIDE = frozenset({RefusalScope.ACCOUNT, RefusalScope.REGION})


class Effect(enum.StrEnum):
    NOTHING = "nothing"
    BRIEF = "brief"
    USED_UP = "used_up"
    FAULT = "fault"  # counts for the breaker


EFFECTS: Mapping[RefusalKind, Effect] = {
    RefusalKind.RATE_LIMITED: Effect.BRIEF,
    RefusalKind.CONCURRENCY: Effect.BRIEF,
    RefusalKind.EXHAUSTED: Effect.USED_UP,
    RefusalKind.BILLING: Effect.USED_UP,
    RefusalKind.AUTH: Effect.USED_UP,  # that credential only
    RefusalKind.OVERLOADED: Effect.FAULT,
    RefusalKind.SERVER_ERROR: Effect.FAULT,
    RefusalKind.TIMEOUT: Effect.FAULT,
    RefusalKind.NONE: Effect.FAULT,
    RefusalKind.CONTEXT_LENGTH: Effect.NOTHING,
    RefusalKind.BAD_REQUEST: Effect.NOTHING,
    RefusalKind.CONTENT_FILTER: Effect.NOTHING,
    RefusalKind.NOT_FOUND: Effect.NOTHING,
}


@dataclass(frozen=True, slots=True)
class Consequence:
    effect: Effect
    scope: Scope = Scope.MODEL
    wait_s: float = 0.0


def consequence_of(refusal: Refusal, rules: LaneRules, *, account_wide: bool, now: datetime) -> Consequence:
    """`account_wide`: the vendor counts its windows per account, not per model (a preset's fact)."""
    effect = EFFECTS[refusal.kind]
    if effect is Effect.BRIEF and rules.on_brief_refusal is OnBriefRefusal.PASS_ON:
        return Consequence(Effect.NOTHING)
    if effect in (Effect.NOTHING, Effect.FAULT):
        return Consequence(effect)
    return Consequence(effect, hangs_on(refusal, account_wide=account_wide), _wait_s(refusal, rules, effect, now))


def hangs_on(refusal: Refusal, *, account_wide: bool) -> Scope:
    """What the limit hangs on: the model (and those that share its limit) or the account behind the key."""
    if refusal.kind is RefusalKind.AUTH:
        return Scope.CREDENTIAL
    if refusal.scope is RefusalScope.MODEL or "model" in refusal.limit_name.lower():
        return Scope.MODEL
    if refusal.kind is RefusalKind.BILLING or refusal.scope in ACCOUNT_WIDE or account_wide:
        return Scope.CREDENTIAL
    return Scope.MODEL


def _wait_s(refusal: Refusal, rules: LaneRules, effect: Effect, now: datetime) -> float:
    """The provider's own time. A bare hint is believed for a day at most; a named moment for as long as it says."""
    if refusal.reset_at is not None and refusal.reset_at > now:
        return (refusal.reset_at - now).total_seconds()
    if refusal.retry_after_s is not None:
        return min(refusal.retry_after_s, DAY_S)
    default_us = rules.brief_default_us if effect is Effect.BRIEF else rules.used_up_default_us
    return default_us / 1e6
