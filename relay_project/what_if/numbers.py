"""The numbers that can be tried: read off a lane profile, and put in its place. Pure.

What a model has otherwise than its profile, it keeps: the profile's numbers are the ones that are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from scheduling.core.charge import uses
from scheduling.core.spec import (
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    SchedulerSpec,
    WindowKind,
    WindowMode,
    WindowSpec,
)

MINUTE_US: Final = 60_000_000
SECOND_US: Final = 1_000_000
_TOKENS: Final = (Measure.TOTAL_TOKENS, Measure.INPUT_TOKENS, Measure.OUTPUT_TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """`rpm`, `tpm`: None = no such limit. `lanes_per_model`: None = as many as there are lanes."""

    lanes: int
    lanes_per_model: int | None
    max_waiting: int
    wait_timeout_s: int
    burst: int
    rpm: int | None
    tpm: int | None


def numbers_of(rules: LaneRules) -> Numbers:
    return Numbers(
        lanes=rules.lanes,
        lanes_per_model=rules.lanes_per_model,
        max_waiting=rules.max_waiting,
        wait_timeout_s=rules.wait_timeout_us // SECOND_US,
        burst=rules.burst,
        rpm=_limit_of(rules, Measure.REQUESTS),
        tpm=_limit_of(rules, token_measure(rules)),
    )


def token_measure(rules: LaneRules) -> Measure | None:
    """Which tokens `tpm` counts: those of the profile's first minute window of tokens, else what its charge rule
    knows; None where it charges none."""
    limited = {window.measure for window in rules.windows if _is_a_minute(window)}
    charged = [measure for measure in _TOKENS if uses(rules.charge_rule, measure)]
    return next((measure for measure in charged if measure in limited), charged[0] if charged else None)


def with_numbers(spec: SchedulerSpec, provider: str, numbers: Numbers) -> SchedulerSpec:
    """The configuration with this one provider, as it would be. Raises ValueError without a lane profile."""
    now = spec.providers[provider]
    if now.rules is None:
        raise ValueError(f"{provider} has no lane profile")
    rules = _changed(now.rules, numbers)
    models = {key: _changed_model(model, now.rules, rules) for key, model in now.models.items()}
    return replace(spec, providers={provider: replace(now, rules=rules, models=models)})


def only(spec: SchedulerSpec, provider: str) -> SchedulerSpec:
    """The configuration as it is, with this one provider. Nothing is paused: the day it replays was not."""
    now = spec.providers[provider]
    models = {key: replace(model, paused=False) for key, model in now.models.items()}
    open_one: ProviderSpec = replace(now, models=models, paused=False)
    return replace(spec, providers={provider: open_one})


def _changed(rules: LaneRules, numbers: Numbers) -> LaneRules:
    windows = _with_limit(rules.windows, Measure.REQUESTS, numbers.rpm)
    measure = token_measure(rules)
    if measure is not None:
        windows = _with_limit(windows, measure, numbers.tpm)
    return replace(
        rules,
        lanes=numbers.lanes,
        lanes_per_model=numbers.lanes_per_model,
        max_waiting=numbers.max_waiting,
        wait_timeout_us=numbers.wait_timeout_s * SECOND_US,
        burst=numbers.burst,
        windows=windows,
    )


def _changed_model(model: ModelSpec, before: LaneRules, after: LaneRules) -> ModelSpec:
    own = model.rules
    rules = replace(
        own,
        lanes=after.lanes,
        max_waiting=after.max_waiting,
        lanes_per_model=after.lanes_per_model if own.lanes_per_model == before.lanes_per_model else own.lanes_per_model,
        wait_timeout_us=after.wait_timeout_us if own.wait_timeout_us == before.wait_timeout_us else own.wait_timeout_us,
        burst=after.burst if own.burst == before.burst else own.burst,
        windows=after.windows if own.windows == before.windows else own.windows,
    )
    return replace(model, rules=rules)


def _limit_of(rules: LaneRules, measure: Measure | None) -> int | None:
    limits = [window.limit for window in rules.windows if window.measure is measure and _is_a_minute(window)]
    return min(limits, default=None)


def _with_limit(windows: tuple[WindowSpec, ...], measure: Measure, limit: int | None) -> tuple[WindowSpec, ...]:
    """The minute window of that measure with another limit, made if there is none, gone for None."""
    mine = [window for window in windows if window.measure is measure and _is_a_minute(window)]
    others = tuple(window for window in windows if window not in mine)
    if limit is None:
        return others
    return (*others, replace(mine[0], limit=limit) if mine else WindowSpec(measure, limit))


def _is_a_minute(window: WindowSpec) -> bool:
    return (
        window.kind is not WindowKind.CALENDAR and window.window_us == MINUTE_US and window.mode is WindowMode.ENFORCED
    )
