"""What a refusal closes, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from providers.contract import Refusal, RefusalKind, RefusalScope
from relay_project.quota.consequences import EFFECTS, Consequence, Effect, consequence_of, hangs_on
from scheduling.core.spec import LaneRules, OnBriefRefusal, Scope

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def rules(**figures: object) -> LaneRules:
    base: dict[str, object] = {"lanes": 1, "lanes_per_model": None, "max_waiting": 8}
    base |= {"wait_timeout_us": 60_000_000, "run_timeout_us": 180_000_000}
    return LaneRules(**(base | figures))  # type: ignore[arg-type]


def of(refusal: Refusal, *, account_wide: bool = False, **figures: object) -> Consequence:
    return consequence_of(refusal, rules(**figures), account_wide=account_wide, now=NOW)


def test_every_kind_has_an_effect() -> None:
    assert set(EFFECTS) == set(RefusalKind)


def test_a_brief_refusal_closes_for_the_providers_time_or_the_profiles_default() -> None:
    assert of(Refusal(RefusalKind.RATE_LIMITED, retry_after_s=7)).wait_s == 7
    assert of(Refusal(RefusalKind.RATE_LIMITED)).wait_s == 1
    assert of(Refusal(RefusalKind.RATE_LIMITED), brief_default_us=10_000_000).wait_s == 10
    assert of(Refusal(RefusalKind.RATE_LIMITED)).effect is Effect.BRIEF


def test_a_profile_that_passes_refusals_on_closes_nothing_for_others() -> None:
    refusal = Refusal(RefusalKind.RATE_LIMITED, retry_after_s=7)
    assert of(refusal, on_brief_refusal=OnBriefRefusal.PASS_ON) == Consequence(Effect.NOTHING)


def test_used_up_closes_until_the_named_moment_or_ten_minutes() -> None:
    day = Refusal(RefusalKind.EXHAUSTED, RefusalScope.DAY, reset_at=NOW + timedelta(hours=9))
    assert of(day) == Consequence(Effect.USED_UP, Scope.MODEL, 9 * 3600)
    assert of(Refusal(RefusalKind.BILLING)) == Consequence(Effect.USED_UP, Scope.CREDENTIAL, 600)


def test_a_bare_hint_is_believed_for_a_day_at_most_and_a_named_moment_for_longer() -> None:
    assert of(Refusal(RefusalKind.EXHAUSTED, retry_after_s=18 * 86_400)).wait_s == 86_400
    week = Refusal(RefusalKind.EXHAUSTED, reset_at=NOW + timedelta(days=5), retry_after_s=1)
    assert of(week).wait_s == 5 * 86_400


@pytest.mark.parametrize("kind", [RefusalKind.SERVER_ERROR, RefusalKind.TIMEOUT, RefusalKind.OVERLOADED])
def test_a_fault_closes_nothing_by_itself(kind: RefusalKind) -> None:
    assert of(Refusal(kind)) == Consequence(Effect.FAULT)


@pytest.mark.parametrize(
    ("refusal", "account_wide", "scope"),
    [
        (Refusal(RefusalKind.EXHAUSTED, RefusalScope.DAY), False, Scope.MODEL),
        (Refusal(RefusalKind.EXHAUSTED, RefusalScope.FIVE_HOUR), True, Scope.CREDENTIAL),
        (Refusal(RefusalKind.EXHAUSTED, RefusalScope.MODEL), True, Scope.MODEL),
        (Refusal(RefusalKind.EXHAUSTED, RefusalScope.DAY, limit_name="PerDayPerProjectPerModel"), True, Scope.MODEL),
        (Refusal(RefusalKind.EXHAUSTED, RefusalScope.ACCOUNT), False, Scope.CREDENTIAL),
        (Refusal(RefusalKind.BILLING, RefusalScope.UNKNOWN), False, Scope.CREDENTIAL),
        (Refusal(RefusalKind.BILLING, RefusalScope.MODEL), False, Scope.MODEL),
        (Refusal(RefusalKind.AUTH, RefusalScope.MODEL), False, Scope.CREDENTIAL),
    ],
)
def test_a_limit_hangs_on_the_model_or_on_the_account(refusal: Refusal, account_wide: bool, scope: Scope) -> None:
    assert hangs_on(refusal, account_wide=account_wide) is scope
