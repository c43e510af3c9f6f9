"""Numbers read off a profile, and put in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from relay_project.what_if.numbers import Numbers, numbers_of, only, token_measure, with_numbers
from scheduling.core.spec import (
    ChargeRule,
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
    WindowKind,
    WindowMode,
    WindowSpec,
)

SECOND_US = 1_000_000
RPM, TPM = WindowSpec(Measure.REQUESTS, 60, slice_us=SECOND_US), WindowSpec(Measure.TOTAL_TOKENS, 30_000)
A_DAY = WindowSpec(Measure.REQUESTS, 250, WindowKind.CALENDAR, 0, "day", "UTC", mode=WindowMode.ESTIMATE)
AN_HOUR = WindowSpec(Measure.REQUESTS, 900, window_us=3600 * SECOND_US)


def rules(*windows: WindowSpec, **figures: Any) -> LaneRules:
    usual: dict[str, Any] = {
        "lanes": 4,
        "lanes_per_model": 2,
        "max_waiting": 8,
        "wait_timeout_us": 60 * SECOND_US,
        "run_timeout_us": 180 * SECOND_US,
    }
    return LaneRules(windows=windows, **{**usual, **figures})


def numbers(**changed: Any) -> Numbers:
    usual: dict[str, Any] = {"lanes": 4, "lanes_per_model": 2, "max_waiting": 8, "wait_timeout_s": 60, "burst": 1}
    return Numbers(**{"rpm": 60, "tpm": 30_000, **usual, **changed})


def spec(profile: LaneRules, model: LaneRules | None = None) -> SchedulerSpec:
    models = {"p/m": ModelSpec("p/m", "p/m", model or profile)}
    providers = {"p": ProviderSpec("p", profile, models), "q": ProviderSpec("q", profile)}
    return SchedulerSpec(1, RelaySpec(), providers)


def tried(profile: LaneRules, changed: Numbers, model: LaneRules | None = None) -> tuple[LaneRules, LaneRules]:
    provider = with_numbers(spec(profile, model), "p", changed).providers["p"]
    assert provider.rules is not None
    return provider.rules, provider.models["p/m"].rules


def test_the_numbers_of_a_profile_are_those_it_has() -> None:
    assert numbers_of(rules(RPM, TPM, A_DAY, AN_HOUR)) == numbers()
    assert numbers_of(rules(A_DAY, AN_HOUR)) == numbers(rpm=None, tpm=None)


@pytest.mark.parametrize("windows", [(RPM, TPM), (RPM, TPM, A_DAY, AN_HOUR), ()])
def test_a_profiles_own_numbers_change_nothing(windows: tuple[WindowSpec, ...]) -> None:
    profile = rules(*windows)
    changed, of_model = tried(profile, numbers_of(profile))
    assert (replace(changed, windows=()), set(changed.windows)) == (replace(profile, windows=()), set(windows))
    assert of_model == changed


def test_typed_numbers_take_the_place_of_the_profiles() -> None:
    typed = numbers(lanes=9, lanes_per_model=None, max_waiting=3, wait_timeout_s=5, burst=2)
    for changed in tried(rules(RPM, TPM), typed):
        assert (changed.lanes, changed.lanes_per_model, changed.max_waiting, changed.burst) == (9, None, 3, 2)
        assert changed.wait_timeout_us == 5 * SECOND_US


def test_a_limit_keeps_its_slice_and_kind_goes_when_empty_and_is_made_when_new() -> None:
    assert replace(RPM, limit=90) in tried(rules(RPM, TPM), numbers(rpm=90))[0].windows
    assert tried(rules(RPM, TPM), numbers(rpm=None))[0].windows == (TPM,)
    assert WindowSpec(Measure.REQUESTS, 7) in tried(rules(), numbers(rpm=7, tpm=None))[0].windows


def test_other_windows_stay() -> None:
    changed, _of_model = tried(rules(RPM, TPM, A_DAY, AN_HOUR), numbers(rpm=1, tpm=None))
    assert {A_DAY, AN_HOUR} <= set(changed.windows)


def test_what_a_model_has_otherwise_it_keeps() -> None:
    own = rules(replace(RPM, limit=5), lanes_per_model=1, wait_timeout_us=7 * SECOND_US, burst=3)
    typed = numbers(lanes=9, lanes_per_model=4, max_waiting=2, wait_timeout_s=90, rpm=99, burst=2)
    _profile, of_model = tried(rules(RPM, TPM), typed, own)
    assert of_model == replace(own, lanes=9, max_waiting=2)


@pytest.mark.parametrize(
    ("rule", "windows", "measure"),
    [
        (ChargeRule.REQUESTS_ONLY, (), None),
        (ChargeRule.INPUT_ONLY, (WindowSpec(Measure.INPUT_TOKENS, 9),), Measure.INPUT_TOKENS),
        (ChargeRule.INPUT_OUTPUT, (WindowSpec(Measure.INPUT_TOKENS, 9),), Measure.INPUT_TOKENS),
        (ChargeRule.MAX_OF, (), Measure.TOTAL_TOKENS),
        (ChargeRule.MAX_OF, (TPM,), Measure.TOTAL_TOKENS),
    ],
)
def test_tokens_a_minute_count_what_the_profile_counts(
    rule: ChargeRule, windows: tuple[WindowSpec, ...], measure: Measure | None
) -> None:
    assert token_measure(rules(*windows, charge_rule=rule)) is measure


def test_the_other_providers_are_left_out_and_nothing_is_paused() -> None:
    now = spec(rules())
    paused = replace(
        now.providers["p"], paused=True, models={"p/m": replace(now.providers["p"].models["p/m"], paused=True)}
    )
    alone = only(replace(now, providers={**now.providers, "p": paused}), "p")
    assert set(alone.providers) == {"p"}
    assert not alone.providers["p"].paused
    assert not alone.providers["p"].models["p/m"].paused


def test_without_a_profile_there_is_nothing_to_try() -> None:
    bare = SchedulerSpec(1, RelaySpec(), {"p": ProviderSpec("p", None)})
    with pytest.raises(ValueError, match="p has no lane profile"):
        with_numbers(bare, "p", numbers())
