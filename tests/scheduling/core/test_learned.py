"""What an account turned out to allow: tables of words heard, and the specs they make."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.core.learned import (
    AT_ONCE,
    FORGOTTEN_AFTER_US,
    Finding,
    LimitKey,
    Source,
    foreign_use,
    hear,
    with_findings,
)
from scheduling.core.spec import (
    CredentialSpec,
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
    Scope,
    WindowKind,
    WindowMode,
    WindowSpec,
)

NOW = 1_790_000_000_000_000
MINUTE = 60_000_000
TPM = WindowSpec(Measure.TOTAL_TOKENS, 60_000)
RPM = WindowSpec(Measure.REQUESTS, 500, slice_us=1_000_000)


def spec(*windows: WindowSpec, accounts: tuple[str, ...] = ("acme",), per_model: int | None = None) -> SchedulerSpec:
    rules = LaneRules(8, per_model, 8, 60_000_000, 180_000_000, windows)
    models = {f"p/{name}": ModelSpec(f"p/{name}", f"p/{group}", rules) for name, group in (("a", "g"), ("b", "own"))}
    keys = tuple(CredentialSpec(f"key-{account}", account) for account in accounts)
    providers = {"p": ProviderSpec("p", rules, models, keys), "q": ProviderSpec("q", rules)}
    return SchedulerSpec(7, RelaySpec(), providers)


def key(source: Source = Source.TOLD, measure: str = "total_tokens", **named: object) -> LimitKey:
    return LimitKey(**({"window_us": MINUTE, "group": "p/g", "account": "acme"} | named),
                    provider="p", source=source, measure=measure)  # type: ignore[arg-type]  # fmt: skip


def at_once(**named: object) -> LimitKey:
    return key(measure=AT_ONCE, window_us=0, **named)


def found(figure: int) -> Finding:
    return Finding(figure, 60_000, NOW, NOW, NOW + 1)


def rules_of(made: SchedulerSpec, model: str = "p/a") -> LaneRules:
    return made.providers["p"].models[model].rules


def limits_of(made: SchedulerSpec, model: str = "p/a") -> list[int]:
    return [window.limit for window in rules_of(made, model).windows]


@pytest.mark.parametrize(
    ("known", "limit", "expected"),
    [
        (None, 30_000, 30_000),  # below the configured one: it rules
        (None, 60_000, None),  # as configured
        (None, 90_000, None),  # a finding never widens what is configured
        (30_000, 20_000, 20_000),  # lower still
        (30_000, 45_000, 45_000),  # up again, not all the way
        (30_000, 60_000, None),  # up to the configured one
    ],
)
def test_the_latest_word_of_the_provider_rules(known: int | None, limit: int, expected: int | None) -> None:
    before = None if known is None else hear(None, known, 60_000, NOW)
    after = hear(before, limit, 60_000, NOW + 5)
    assert (None if after is None else after.figure) == expected


def test_a_repeated_word_keeps_its_beginning_and_lives_on() -> None:
    first = hear(None, 30_000, 60_000, NOW)
    again = hear(first, 30_000, 60_000, NOW + 9)
    other = hear(again, 20_000, 60_000, NOW + 10)
    assert again is not None
    assert other is not None
    assert (again.since_us, again.until_us) == (NOW, NOW + 9 + FORGOTTEN_AFTER_US)
    assert other.since_us == NOW + 10
    assert not again.is_over(NOW + 8 + FORGOTTEN_AFTER_US)
    assert again.is_over(NOW + 9 + FORGOTTEN_AFTER_US)


@pytest.mark.parametrize(
    ("limit", "remaining", "ours", "expected"),
    [
        (1000, 900, 100, 0),  # all of it is ours
        (1000, 860, 100, 0),  # less than a step: two clocks
        (1000, 700, 100, 200),
        (1000, 711, 100, 150),  # whole steps, rounded down
        (1000, 990, 300, 0),  # ours is on its way
        (10, 4, 3, 3),  # small limits count singly
        (1, 0, 0, 1),
    ],
)
def test_use_by_others_is_what_the_provider_counted_beyond_ours(
    limit: int, remaining: int, ours: int, expected: int
) -> None:
    assert foreign_use(limit, remaining, ours) == expected


def test_a_told_limit_lowers_the_windows_of_its_group_and_no_others() -> None:
    made = with_findings(spec(TPM, RPM), {key(): found(30_000)}, 9)
    assert limits_of(made) == [30_000, 500]
    assert limits_of(made, "p/b") == [60_000, 500]
    assert made.version == 9
    assert made.providers["q"] == spec(TPM, RPM).providers["q"]


@pytest.mark.parametrize(
    "other",
    [
        key(measure="input_tokens"),
        key(window_us=86_400_000_000),
        key(group="p/own"),
        replace(key(), provider="q"),
    ],
)
def test_what_is_about_another_limit_changes_nothing(other: LimitKey) -> None:
    assert limits_of(with_findings(spec(TPM), {other: found(30_000)}, 9)) == [60_000]


def test_of_two_accounts_the_lower_word_rules() -> None:
    words = {key(): found(30_000), key(account="other"): found(20_000)}
    assert limits_of(with_findings(spec(TPM), words, 9)) == [20_000]


def test_what_others_use_is_missing_but_never_more_than_half() -> None:
    assert limits_of(with_findings(spec(TPM), {key(Source.FOREIGN): found(12_000)}, 9)) == [48_000]
    assert limits_of(with_findings(spec(TPM), {key(Source.FOREIGN): found(59_000)}, 9)) == [30_000]
    both = {key(): found(30_000), key(Source.FOREIGN): found(9_000)}
    assert limits_of(with_findings(spec(TPM), both, 9)) == [21_000]


def test_a_days_estimate_is_corrected_too() -> None:
    day = WindowSpec(Measure.REQUESTS, 250, WindowKind.CALENDAR, period="day", zone="UTC", mode=WindowMode.ESTIMATE)
    word = key(measure="requests", window_us=86_400_000_000)
    assert limits_of(with_findings(spec(day), {word: found(20)}, 9)) == [20]


def test_a_window_of_the_whole_provider_hears_words_without_a_group() -> None:
    whole = replace(TPM, scope=Scope.PROVIDER)
    assert limits_of(with_findings(spec(whole), {key(group=""): found(30_000)}, 9), "p/b") == [30_000]
    assert limits_of(with_findings(spec(whole), {key(): found(30_000)}, 9)) == [60_000]


@pytest.mark.parametrize(("per_model", "expected"), [(None, 4), (6, 4), (2, 2)])
def test_calls_at_once_of_a_model_bound_its_lane(per_model: int | None, expected: int) -> None:
    made = with_findings(spec(per_model=per_model), {at_once(): found(4)}, 9)
    assert rules_of(made).lanes_per_model == expected
    assert rules_of(made, "p/b").lanes_per_model == per_model
    assert rules_of(made).lanes == 8


def test_calls_at_once_of_the_only_account_bound_the_provider() -> None:
    made = with_findings(spec(), {at_once(group=""): found(4)}, 9)
    rules = made.providers["p"].rules
    assert rules is not None
    assert (rules.lanes, rules_of(made).lanes, rules_of(made, "p/b").lanes) == (4, 4, 4)
    assert [one.lanes for one in made.providers["p"].credentials] == [4]


def test_of_several_accounts_only_the_refused_ones_keys_are_bound() -> None:
    made = with_findings(spec(accounts=("acme", "other")), {at_once(group=""): found(4)}, 9)
    rules = made.providers["p"].rules
    assert rules is not None
    assert rules.lanes == 8
    assert {one.quota_group: one.lanes for one in made.providers["p"].credentials} == {"acme": 4, "other": None}


def test_an_adaptive_rate_is_one_more_window() -> None:
    word = LimitKey("p", Source.ADAPTIVE, "requests", 10_000_000, "p/g")
    windows = rules_of(with_findings(spec(RPM), {word: found(25)}, 9)).windows
    assert windows == (RPM, WindowSpec(Measure.REQUESTS, 25, window_us=10_000_000))


def test_a_provider_without_a_profile_stays_without() -> None:
    bare = SchedulerSpec(1, RelaySpec(), {"p": ProviderSpec("p", None)})
    assert with_findings(bare, {key(): found(1)}, 2).providers["p"].rules is None
