"""Lane profiles to start from: the specified figures, and none where none may be assumed."""

import pytest
from django.core.exceptions import ValidationError

from scheduling.core.spec import ChargeRule, Measure, OnBriefRefusal, WindowKind, WindowMode
from scheduling.models import LaneProfile, LaneWindow
from scheduling.presets import LANE_PRESETS, create_profile

# lanes, per model, run, wait: the table of the specification
SPECIFIED = {
    "codex": (3, 1, 300, 60),
    "claude": (3, 1, 300, 60),
    "gemini-cli": (3, 1, 300, 60),
    "slow-cli": (3, 1, 660, 600),
    "nvidia": (4, 2, 600, 60),
    "lm-studio": (1, None, 180, 60),
    "gemini": (4, 2, 300, 60),
    "custom": (None, None, None, None),
}
OTHERS = {
    "openai", "azure", "anthropic", "openrouter", "groq", "mistral", "deepseek", "ollama", "vllm", "llama.cpp", "fal",
    "image", "embedding-local", "simulator",
}  # fmt: skip


@pytest.mark.parametrize("key", sorted(SPECIFIED))
def test_a_specified_preset_has_the_specified_figures(key: str) -> None:
    preset = LANE_PRESETS[key]
    figures = (preset.lanes, preset.lanes_per_model, preset.run_timeout_s, preset.wait_timeout_s)
    assert figures == SPECIFIED[key]


def test_every_named_preset_is_there_and_no_other() -> None:
    assert set(LANE_PRESETS) == set(SPECIFIED) | OTHERS


def test_nvidia_is_not_paced_and_passes_its_refusals_on() -> None:
    assert LANE_PRESETS["nvidia"].windows == ()
    assert LANE_PRESETS["nvidia"].on_brief_refusal is OnBriefRefusal.PASS_ON


def test_geminis_daily_figure_is_an_estimate_of_pacific_days_and_its_minutes_are_enforced() -> None:
    minute, tokens, day = LANE_PRESETS["gemini"].windows
    assert (minute.measure, minute.mode) == (Measure.REQUESTS, WindowMode.ENFORCED)
    assert (tokens.measure, tokens.mode) == (Measure.INPUT_TOKENS, WindowMode.ENFORCED)
    assert (day.kind, day.zone, day.mode) == (WindowKind.CALENDAR, "America/Los_Angeles", WindowMode.ESTIMATE)
    assert LANE_PRESETS["gemini"].brief_default_s == 10


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("openai", ChargeRule.MAX_OF),
        ("azure", ChargeRule.PROMPT_PLUS_MAX),
        ("anthropic", ChargeRule.INPUT_OUTPUT),
        ("gemini", ChargeRule.INPUT_ONLY),
    ],
)
def test_charges_are_counted_with_the_providers_ruler(key: str, rule: ChargeRule) -> None:
    assert LANE_PRESETS[key].charge_rule is rule


@pytest.mark.django_db
@pytest.mark.parametrize("key", sorted(set(LANE_PRESETS) - {"custom"}))
def test_a_preset_makes_a_valid_profile_with_its_windows(key: str) -> None:
    profile = create_profile(key, "x")
    profile.full_clean()
    assert profile.preset == key
    assert profile.max_waiting == 8
    for window in LaneWindow.objects.filter(profile=profile):
        window.full_clean()
    assert profile.windows.count() == len(LANE_PRESETS[key].windows)


@pytest.mark.django_db
def test_custom_assumes_nothing_and_names_every_figure_that_is_missing() -> None:
    with pytest.raises(ValidationError) as refused:
        create_profile("custom", "mine")
    assert set(refused.value.message_dict) == {"lanes", "wait_timeout_s", "run_timeout_s"}
    assert not LaneProfile.objects.exists()
    made = create_profile("custom", "mine", lanes=2, wait_timeout_s=30, run_timeout_s=90)
    assert (made.lanes, made.wait_timeout_s, made.run_timeout_s) == (2, 30, 90)


@pytest.mark.django_db
def test_a_typed_figure_wins_over_the_presets() -> None:
    profile = create_profile("codex", "x", lanes=5, wait_timeout_s=None, run_timeout_s=900)
    assert (profile.lanes, profile.wait_timeout_s, profile.run_timeout_s) == (5, 60, 900)
