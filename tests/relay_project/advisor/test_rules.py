"""The rules as tables: which figures do not fit together, and which just do."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from relay_project.advisor.facts import LearnedLimit, ModelFacts, ProviderFacts, Reserved
from relay_project.advisor.rules import Rule, advise
from relay_project.advisor.words import sentence


def model(**changed: Any) -> ModelFacts:
    usual: dict[str, Any] = {"name": "m", "lanes": 1, "wait_timeout_s": 600, "run_timeout_s": 660}
    return ModelFacts(**{**usual, **changed})


def provider(*models: ModelFacts, **changed: Any) -> ProviderFacts:
    usual: dict[str, Any] = {"slug": "p", "name": "P", "lanes": 3, "wait_timeout_s": 60}
    return ProviderFacts(models=models or (model(),), **{**usual, **changed})


def rules_of(*providers: ProviderFacts) -> list[Rule]:
    return [advice.rule for advice in advise(providers)]


def said(facts: ProviderFacts, language: str = "en") -> str:
    [advice] = advise([facts])
    with translation.override(language):
        return sentence(advice)


def busy(lanes: int, wait_s: int, p95_ms: int | None, calls: int = 20) -> ProviderFacts:
    return provider(model(lanes=lanes, wait_timeout_s=wait_s, p95_run_ms=p95_ms, calls=calls))


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (busy(1, 60, 30_001), Rule.LINE_GIVES_UP_BEFORE_CALLS),
        (busy(1, 60, 30_000), None),
        (busy(2, 60, 60_001), Rule.LINE_GIVES_UP_BEFORE_CALLS),
        (busy(2, 60, 60_000), None),
        (busy(1, 60, 58_000, calls=19), None),
        (busy(1, 60, None, calls=0), None),
        (provider(lanes=1, check_ms=30_001), Rule.LINE_GIVES_UP_BEFORE_CHECK),
        (provider(lanes=1, check_ms=30_000), None),
        (provider(lanes=2, check_ms=58_000), None),
        (provider(check_ms=None), None),
        (provider(model(run_timeout_s=600), adapter_cap_s=600), Rule.RUN_BELOW_ADAPTER),
        (provider(model(run_timeout_s=601), adapter_cap_s=600), None),
        (provider(model(run_timeout_s=10), adapter_cap_s=None), None),
        (provider(model(timed_out=1, calls=40)), Rule.RUN_BELOW_UPSTREAM),
        (provider(connection="failed", failed_stage="auth"), Rule.CONNECTION_FAILED),
        (provider(connection="failed", enabled=False), Rule.CONNECTION_FAILED),
        (provider(connection="unverified"), Rule.NEVER_CHECKED),
        (provider(connection="unverified", enabled=False), None),
        (ProviderFacts(slug="p", name="P", has_profile=False), Rule.PROFILE_MISSING),
    ],
)
def test_what_does_not_fit_is_told_and_what_just_fits_is_not(facts: ProviderFacts, rule: Rule | None) -> None:
    assert rules_of(facts) == ([] if rule is None else [rule])


@pytest.mark.parametrize(("learned", "told"), [(29_999, True), (30_000, False), (60_000, False)])
def test_a_limit_is_told_only_where_the_provider_says_less(learned: int, told: bool) -> None:
    limit = LearnedLimit(model="m", measure="total_tokens", window_s=60, configured=30_000, learned=learned)
    assert rules_of(provider(learned=(limit,))) == [Rule.LIMIT_LOWERED] * told


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"reserved_tokens": 2001}, True),
        ({"reserved_tokens": 2000}, False),
        ({"reserved_tokens": 9000, "answers": 19}, False),
        ({"reserved_tokens": 9000, "cap_lowered": True}, False),
        ({"reserved_tokens": 9000, "used_tokens": 0}, False),
    ],
)
def test_caps_are_told_of_only_where_they_set_aside_more_than_twice_what_is_used(
    changed: dict[str, Any], told: bool
) -> None:
    usual: dict[str, Any] = {"model": "m", "reserved_tokens": 0, "used_tokens": 1000, "answers": 20}
    assert rules_of(provider(reserved=(Reserved(**(usual | changed)),))) == [Rule.CAPS_RESERVE_TOO_MUCH] * told


def test_what_makes_calls_fail_comes_first() -> None:
    slow = busy(1, 60, 58_000)
    broken = ProviderFacts(slug="q", name="Q", has_profile=False)
    assert rules_of(slow, broken) == [Rule.PROFILE_MISSING, Rule.LINE_GIVES_UP_BEFORE_CALLS]


def test_of_several_models_the_one_furthest_off_speaks_for_its_provider() -> None:
    slow = model(name="slow", wait_timeout_s=60, p95_run_ms=58_000, calls=30)
    slowest = model(name="slowest", wait_timeout_s=60, p95_run_ms=90_000, calls=30)
    assert said(provider(slow, slowest, model(name="fast"))).startswith("P · slowest: 95 % of calls take up to 90 s")


def test_the_sentence_names_the_figures_and_what_helps() -> None:
    assert said(busy(1, 60, 58_000)) == (
        "P: 95 % of calls take up to 58 s, the line gives up after 60 s with 1 lane: raise wait_timeout_s or lanes."
    )
    assert "with 2 lanes" in said(busy(2, 60, 61_000))


def test_a_lowered_limit_says_that_asking_for_quota_does_not_help() -> None:
    limit = LearnedLimit(model="", measure="total_tokens", window_s=60, configured=60_000, learned=30_000)
    assert said(provider(learned=(limit,))) == (
        "P: the provider has lowered your limit for now: 30,000 tokens a minute, where the profile says 60,000 tokens "
        "a minute. The lower one rules; asking for quota will not help."
    )


EVERY = [
    busy(1, 60, 58_000),
    busy(2, 60, 61_000),
    provider(lanes=1, check_ms=31_000),
    provider(model(run_timeout_s=600), adapter_cap_s=600),
    provider(model(timed_out=1, calls=40)),
    provider(model(timed_out=3, calls=40)),
    provider(connection="failed", failed_stage="auth", failed_reason="no such key"),
    provider(connection="failed"),
    provider(connection="unverified"),
    provider(learned=(LearnedLimit(model="", measure="concurrency", window_s=0, configured=8, learned=4),)),
    provider(learned=(LearnedLimit(model="", measure="requests", window_s=10, configured=8, learned=4),)),
    provider(reserved=(Reserved(model="m", reserved_tokens=9000, used_tokens=1000, answers=50),)),
    ProviderFacts(slug="p", name="P", has_profile=False),
]


@pytest.mark.parametrize("facts", EVERY, ids=lambda facts: advise([facts])[0].rule.value)
def test_every_rule_has_its_sentence_in_both_languages(facts: ProviderFacts) -> None:
    english, korean = said(facts), said(facts, "ko")
    assert "%" not in english.replace("95 %", "")
    assert "P" in english
    assert english != korean


def test_the_table_above_holds_every_rule() -> None:
    assert {advise([facts])[0].rule for facts in EVERY} == set(Rule)
