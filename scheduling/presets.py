"""Lane profiles to start from, one per vendor preset (the same keys as `providers.presets`).

The figures are a safe beginning for a new account; the admin types the account's own. Sources: [spec] the
product's specification, [doc] the provider's documentation, [code] its public source, [seen] a limit stated
in a refusal that was really sent, [assumed] nobody has confirmed it. Where a provider publishes no bound on
calls at once, `UNBOUNDED` keeps two of the relay's ten places for the others. `None` = the admin must type
it: nothing fills it silently.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from scheduling.core.spec import ChargeRule, Measure, OnBriefRefusal, Scope, WindowKind, WindowMode
from scheduling.models import LaneProfile, LaneWindow

UNBOUNDED = 8


@dataclass(frozen=True, slots=True)
class WindowPreset:
    """One `LaneWindow`; the same names and units."""

    measure: Measure
    limit: int
    window_s: int | None = 60
    kind: WindowKind = WindowKind.SLIDING
    period: str = ""
    zone: str = ""
    scope: Scope = Scope.MODEL
    mode: WindowMode = WindowMode.ENFORCED
    slice_s: int | None = None


@dataclass(frozen=True, slots=True)
class LanePreset:
    """The figures of one `LaneProfile`; the same names and units."""

    lanes: int | None
    lanes_per_model: int | None = None
    run_timeout_s: int | None = 180
    wait_timeout_s: int | None = 60
    max_waiting: int = 8
    charge_rule: ChargeRule = ChargeRule.RESERVE_AND_SETTLE
    on_brief_refusal: OnBriefRefusal = OnBriefRefusal.WAIT_ONCE
    brief_default_s: int = 1
    note: str = ""
    windows: tuple[WindowPreset, ...] = ()


def estimate(measure: Measure, limit: int, period: str, zone: str, scope: Scope = Scope.MODEL) -> WindowPreset:
    """Shown ("about 140 of 250 left today"), never enforced."""
    return WindowPreset(
        measure,
        limit,
        window_s=None,
        kind=WindowKind.CALENDAR,
        period=period,
        zone=zone,
        scope=scope,
        mode=WindowMode.ESTIMATE,
    )


# [spec] Agents at the command line: one call per model at a time, no pacing; they count no tokens for us.
COMMAND_LINE = LanePreset(
    lanes=3, lanes_per_model=1, run_timeout_s=300, wait_timeout_s=60, charge_rule=ChargeRule.REQUESTS_ONLY
)

LANE_PRESETS: dict[str, LanePreset] = {
    "codex": COMMAND_LINE,
    "claude": COMMAND_LINE,
    "gemini-cli": COMMAND_LINE,
    # [spec] An agent whose call takes about a minute: the line must outlast several of them.
    "slow-cli": LanePreset(
        lanes=3,
        lanes_per_model=1,
        run_timeout_s=660,
        wait_timeout_s=600,
        charge_rule=ChargeRule.REQUESTS_ONLY,
    ),
    # [spec] Lanes and times. [seen] About 40 a minute per key, enforced "dynamically": a pacer would guess.
    "nvidia": LanePreset(
        lanes=4,
        lanes_per_model=2,
        run_timeout_s=600,
        wait_timeout_s=60,
        charge_rule=ChargeRule.REQUESTS_ONLY,
        on_brief_refusal=OnBriefRefusal.PASS_ON,
        note="40 per minute per key: noted, not paced.",
    ),
    # [spec] Lanes and times. [doc] No rate limits; calls beyond its parallel predictions queue inside it.
    "lm-studio": LanePreset(lanes=1, run_timeout_s=180, wait_timeout_s=60, charge_rule=ChargeRule.REQUESTS_ONLY),
    # [spec] Lanes, times, the 10 s. [doc] Limits per project and model; only input counts; the day ends at
    # midnight Pacific; 250 a day on a free key. [seen] Minutes are the clock's. [assumed] 10 RPM, 250k TPM.
    "gemini": LanePreset(
        lanes=4,
        lanes_per_model=2,
        run_timeout_s=300,
        wait_timeout_s=60,
        charge_rule=ChargeRule.INPUT_ONLY,
        brief_default_s=10,
        note="Figures of a free key. The daily one is an estimate: Gemini's own refusal is the truth.",
        windows=(
            WindowPreset(Measure.REQUESTS, 10, kind=WindowKind.FIXED),
            WindowPreset(Measure.INPUT_TOKENS, 250_000, kind=WindowKind.FIXED),
            estimate(Measure.REQUESTS, 250, "day", "America/Los_Angeles"),
        ),
    ),
    # [doc] max(max_tokens, estimate) at arrival, failed calls count, continuous refill, a minute judged by
    # the second. [seen] 500 RPM and 30,000 TPM in a first paid account's refusals. [code] Its clients give up
    # after 600 s.
    "openai": LanePreset(
        lanes=UNBOUNDED,
        run_timeout_s=660,
        charge_rule=ChargeRule.MAX_OF,
        note="Figures of a first paid account.",
        windows=(
            WindowPreset(Measure.REQUESTS, 500, slice_s=1),
            WindowPreset(Measure.TOTAL_TOKENS, 30_000),
        ),
    ),
    # [doc] Prompt + max_tokens at arrival, reset each minute; 6 RPM per 1,000 TPM; judged over 1 or 10 s, so
    # by the stricter. [assumed] A deployment of 30,000 TPM. The client's 600 s as for OpenAI.
    "azure": LanePreset(
        lanes=UNBOUNDED,
        run_timeout_s=660,
        charge_rule=ChargeRule.PROMPT_PLUS_MAX,
        note="Type the deployment's own tokens per minute, and 6 requests for each 1,000 of them.",
        windows=(
            WindowPreset(Measure.REQUESTS, 180, kind=WindowKind.FIXED, slice_s=1),
            WindowPreset(Measure.TOTAL_TOKENS, 30_000, kind=WindowKind.FIXED),
        ),
    ),
    # [doc] Separate input (less cache reads) and output (as produced) windows, continuous refill; 60 RPM may
    # be judged as 1 a second; calls at once and sharp ramps are limited, no number published: 4 [assumed].
    # [seen] 50 RPM, 50,000 input and 8,000 output tokens per minute of a first account. [assumed] 600 s.
    "anthropic": LanePreset(
        lanes=4,
        run_timeout_s=660,
        charge_rule=ChargeRule.INPUT_OUTPUT,
        note="Figures of a first account. Models of one class share them: give them one limit group.",
        windows=(
            WindowPreset(Measure.REQUESTS, 50, slice_s=1),
            WindowPreset(Measure.INPUT_TOKENS, 50_000),
            WindowPreset(Measure.OUTPUT_TOKENS, 8_000),
        ),
    ),
    # [doc] Paid models: money is reserved, no tokens counted, no limit on calls at once. [seen] Free models:
    # 50 a day for the whole account; no window, as paid models are not counted in it. [assumed] 300 s.
    "openrouter": LanePreset(
        lanes=UNBOUNDED,
        run_timeout_s=300,
        charge_rule=ChargeRule.REQUESTS_ONLY,
        note="Only “:free” models have 50 (or, with credits, 1,000) requests a day, all together.",
    ),
    # [doc] RPM, RPD, TPM, TPD per organization. [seen] Everything rolls, the day too: 1,000 requests a day,
    # 8,000 tokens a minute, 100,000 tokens a day. [assumed] 30 RPM; 4 at once; the default 180 s.
    "groq": LanePreset(
        lanes=4,
        charge_rule=ChargeRule.RESERVE_AND_SETTLE,
        note="Figures of the free “on_demand” tier, per model.",
        windows=(
            WindowPreset(Measure.REQUESTS, 30),
            WindowPreset(Measure.REQUESTS, 1_000, window_s=86_400),
            WindowPreset(Measure.TOTAL_TOKENS, 8_000),
            WindowPreset(Measure.TOTAL_TOKENS, 100_000, window_s=86_400),
        ),
    ),
    # [doc] Free tier of an organization: 1 request a second, 500,000 tokens a minute, 1 billion a month;
    # input and output both count; a header tells afterwards what was charged. [assumed] 4 at once; UTC months.
    "mistral": LanePreset(
        lanes=4,
        charge_rule=ChargeRule.RESERVE_AND_SETTLE,
        note="Figures of the free tier.",
        windows=(
            WindowPreset(Measure.REQUESTS, 1, window_s=1, scope=Scope.PROVIDER),
            WindowPreset(Measure.TOTAL_TOKENS, 500_000, scope=Scope.PROVIDER),
            estimate(Measure.TOTAL_TOKENS, 1_000_000_000, "month", "UTC", Scope.PROVIDER),
        ),
    ),
    # [doc] Only calls at once count (500 and more); it keeps a call up to 10 minutes before it begins.
    "deepseek": LanePreset(lanes=UNBOUNDED, run_timeout_s=660, charge_rule=ChargeRule.REQUESTS_ONLY),
    # [code] One call per model by default (OLLAMA_NUM_PARALLEL), three models loaded per GPU; more wait
    # inside Ollama, unseen. [assumed] Loading a model may take minutes: 300 s.
    "ollama": LanePreset(
        lanes=3,
        lanes_per_model=1,
        run_timeout_s=300,
        charge_rule=ChargeRule.REQUESTS_ONLY,
        note="“Of these per model” is OLLAMA_NUM_PARALLEL.",
    ),
    # [assumed] No limits of its own: calls beyond --max-num-seqs wait inside it, and that is far above ten.
    "vllm": LanePreset(lanes=UNBOUNDED, run_timeout_s=300, charge_rule=ChargeRule.REQUESTS_ONLY),
    # [seen] As many at once as --parallel has slots; the rest is deferred inside. [assumed] One slot.
    "llama.cpp": LanePreset(
        lanes=1, run_timeout_s=300, charge_rule=ChargeRule.REQUESTS_ONLY, note="Lanes are its --parallel."
    ),
    # [doc] A new account runs 2 at once (up to 40 with credits); direct calls over it are refused.
    "fal": LanePreset(lanes=2, run_timeout_s=300, charge_rule=ChargeRule.REQUESTS_ONLY),
    # [doc] Images are counted per minute, in no measure kept here. [assumed] 2 at once; tens of seconds each.
    "image": LanePreset(lanes=2, run_timeout_s=300, charge_rule=ChargeRule.REQUESTS_ONLY),
    # [assumed] One machine's own model: a second call at once only makes both slower. Its calls are short.
    "embedding-local": LanePreset(lanes=1, charge_rule=ChargeRule.REQUESTS_ONLY),
    # Ours: narrow enough that a newcomer sees the line at work.
    "simulator": LanePreset(lanes=4, lanes_per_model=2, charge_rule=ChargeRule.REQUESTS_ONLY),
    # [spec] No silent default.
    "custom": LanePreset(lanes=None, wait_timeout_s=None, run_timeout_s=None),
}

FIGURES = tuple(field.name for field in fields(LanePreset) if field.name != "windows")


def preset_figures(key: str) -> dict[str, Any]:
    """Field name → figure of a `LaneProfile`. None = still to be typed."""
    preset = LANE_PRESETS[key]
    return {name: getattr(preset, name) for name in FIGURES}


def create_profile(key: str, name: str, **typed: int | None) -> LaneProfile:
    """Save the preset's profile with its windows; `typed` figures win over the preset's.

    Call inside a transaction. Raises ValidationError, by field, for a figure neither typed nor preset.
    """
    figures = preset_figures(key) | {field: value for field, value in typed.items() if value is not None}
    profile = LaneProfile(preset=key, name=name, **figures)
    profile.full_clean()
    profile.save()
    for window in LANE_PRESETS[key].windows:
        values = {field.name: getattr(window, field.name) for field in fields(window)}
        LaneWindow.objects.create(profile=profile, **values)
    return profile
