"""What a provider's no means to the caller: kind → code, time and whether another candidate may be asked. Tables.

Each table is total over `RefusalKind` (a test walks it).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from accounts.outcomes import Outcome
from providers.contract import Refusal, RefusalKind
from relay_project.errors import ProviderSaidNo
from scheduling.core.spec import LaneRules

CODES: Mapping[RefusalKind, str] = {
    RefusalKind.RATE_LIMITED: "provider_rate_limited",
    RefusalKind.CONCURRENCY: "provider_rate_limited",
    RefusalKind.EXHAUSTED: "insufficient_quota",
    RefusalKind.BILLING: "insufficient_quota",
    RefusalKind.OVERLOADED: "provider_overloaded",
    RefusalKind.AUTH: "provider_unavailable",  # the relay's key, not the caller's
    RefusalKind.CONTEXT_LENGTH: "context_length_exceeded",
    RefusalKind.BAD_REQUEST: "invalid_request",
    RefusalKind.CONTENT_FILTER: "content_filtered",
    RefusalKind.NOT_FOUND: "model_not_found",
    RefusalKind.SERVER_ERROR: "provider_unavailable",
    RefusalKind.TIMEOUT: "run_timeout",
    RefusalKind.NONE: "provider_unavailable",
}

# The request itself is at fault: every other candidate would say the same.
_FINAL = frozenset({RefusalKind.BAD_REQUEST, RefusalKind.CONTENT_FILTER})

_BRIEF = frozenset({RefusalKind.RATE_LIMITED, RefusalKind.CONCURRENCY})
_USED_UP = frozenset({RefusalKind.EXHAUSTED, RefusalKind.BILLING})

OUTCOMES: Mapping[RefusalKind, Outcome] = dict.fromkeys(RefusalKind, Outcome.REFUSED) | {
    RefusalKind.SERVER_ERROR: Outcome.UPSTREAM_ERROR,
    RefusalKind.NONE: Outcome.UPSTREAM_ERROR,
    RefusalKind.TIMEOUT: Outcome.RUN_TIMEOUT,
}

EMPTY_EVIDENCE = "empty answer"
EMPTY = Refusal(
    RefusalKind.SERVER_ERROR,
    status=200,
    evidence=EMPTY_EVIDENCE,
    message="The provider's answer was empty.",
)


def said_no(refusal: Refusal, rules: LaneRules, *, provider: str, model: str, now: datetime) -> ProviderSaidNo:
    return ProviderSaidNo(
        CODES[refusal.kind],
        refusal,
        provider=provider,
        model=model,
        retry_after_s=told_wait_s(refusal, rules, now),
    )


def told_wait_s(refusal: Refusal, rules: LaneRules, now: datetime) -> float | None:
    """The provider's own time, else what the lane profile says for this kind; None = no known time."""
    own = refusal.retry_after_s
    if own is None and refusal.reset_at is not None:
        own = max(0.0, (refusal.reset_at - now).total_seconds())
    if refusal.kind in _BRIEF:
        return rules.brief_default_us / 1e6 if own is None else own
    if refusal.kind in _USED_UP:
        return rules.used_up_default_us / 1e6 if own is None else own
    return own


def another_may_answer(refusal: Refusal) -> bool:
    """Is it sensible to ask the next candidate?"""
    return refusal.kind not in _FINAL


def outcome_of(refusal: Refusal) -> Outcome:
    return Outcome.EMPTY if refusal.evidence == EMPTY_EVIDENCE else OUTCOMES[refusal.kind]
