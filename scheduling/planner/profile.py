"""From a scenario's lane profile to what the core is configured with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scheduling.core.spec import (
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
    WindowKind,
    WindowSpec,
)
from scheduling.planner.scenario import Limit, Profile, Provider, Window
from scheduling.planner.timeline import in_us

PROVIDER: Final = "planned"
MODEL: Final = "planned/model"
MEASURES: Final = {"requests": Measure.REQUESTS, "tokens": Measure.TOTAL_TOKENS}


def lane_rules(profile: Profile, provider: Provider) -> LaneRules:
    return LaneRules(
        lanes=profile.lanes,
        lanes_per_model=profile.lanes_per_model,
        max_waiting=profile.max_waiting,
        wait_timeout_us=in_us(profile.wait_timeout_s),
        run_timeout_us=in_us(3_600),  # nothing hangs here: a turn ends by itself
        windows=tuple(_windows(profile, provider)),
        burst=profile.burst,
        guard_us=profile.guard_ms * 1_000,
        charge_rule=profile.charge_rule,
        fair_by=profile.fair_by,
        on_brief_refusal=profile.on_brief_refusal,
        adaptive=profile.adaptive,
        answer_cap=profile.answer_cap,
        answer_cap_streams=profile.answer_cap_streams,
    )


def scheduler_spec(rules: LaneRules, version: int = 1) -> SchedulerSpec:
    """One provider with one model. The relay's own bounds are wide: it is the profile that is tried out."""
    model = ModelSpec(MODEL, MODEL, rules)
    relay = RelaySpec(max_running=rules.lanes, max_inside=rules.lanes + rules.max_waiting + 1)
    return SchedulerSpec(version, relay, {PROVIDER: ProviderSpec(PROVIDER, rules, {MODEL: model})})


def _windows(profile: Profile, provider: Provider) -> Iterator[WindowSpec]:
    if profile.windows is None:
        yield from (_of_limit(limit) for limit in provider.limits)
    else:
        yield from (_of_window(window) for window in profile.windows)


def _of_limit(limit: Limit) -> WindowSpec:
    return WindowSpec(
        measure=MEASURES[limit.measure],
        limit=limit.limit,
        kind=WindowKind(limit.window),
        window_us=in_us(limit.window_s),
        slice_us=in_us(limit.slice_s or 0),
    )


def _of_window(window: Window) -> WindowSpec:
    return WindowSpec(
        measure=window.measure,
        limit=window.limit,
        window_us=in_us(window.window_s),
        slice_us=in_us(window.slice_s or 0),
    )
