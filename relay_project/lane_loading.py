"""Rows → what the scheduler decides by: lane profiles with their windows and overrides, credentials, relay limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from providers.models import Credential as CredentialRow
from providers.models import Model, Provider
from relay_project.snapshot import no_model_key
from scheduling.core.spec import (
    ChargeRule,
    CredentialSpec,
    FairBy,
    LaneRules,
    Measure,
    ModelSpec,
    OnBriefRefusal,
    OnDisconnect,
    ProviderSpec,
    RelaySpec,
    Scope,
    WindowKind,
    WindowMode,
    WindowSpec,
)
from scheduling.models import LaneProfile, LaneWindow, ModelOverride, RelayLimits

SECOND_US = 1_000_000


def provider_spec(provider: Provider) -> ProviderSpec:
    profile = provider.lane_profile
    rules = None if profile is None else _rules(profile, None, _windows(profile, None))
    return ProviderSpec(
        key=provider.slug,
        rules=rules,
        models={} if profile is None else {spec.key: spec for spec in _model_specs(provider, profile)},
        credentials=tuple(_credential_spec(provider, row) for row in usable_keys(provider)),
        paused=provider.paused,
        pause_message=provider.pause_message,
    )


def relay_spec(limits: RelayLimits) -> RelaySpec:
    return RelaySpec(max_running=limits.max_running, max_inside=limits.max_inside)


def _credential_spec(provider: Provider, row: CredentialRow) -> CredentialSpec:
    bound = next((model for model in provider.models.all() if model.pk == row.bound_model_id), None)
    return CredentialSpec(
        id=str(row.pk),
        quota_group=row.quota_group,
        lanes=row.lanes,
        model=None if bound is None else key_of(provider, bound),
        paused=row.paused,
    )


def _model_specs(provider: Provider, profile: LaneProfile) -> Iterable[ModelSpec]:
    overrides = {override.model_id: override for override in profile.overrides.all()}
    for model in provider.models.all():
        override = overrides.get(model.pk)
        yield ModelSpec(
            key=key_of(provider, model),
            limit_group=model.limit_group or key_of(provider, model),
            rules=_rules(profile, override, _windows(profile, override)),
            paused=model.paused,
            pause_message=model.pause_message,
        )
    if not provider.models.all():
        # A provider is connected before its models are known: its check needs a line to stand in.
        key = no_model_key(provider.slug)
        yield ModelSpec(key=key, limit_group=key, rules=_rules(profile, None, _windows(profile, None)))


def _windows(profile: LaneProfile, override: ModelOverride | None) -> tuple[WindowSpec, ...]:
    """The profile's windows; a model with windows of its own has those in place of the profile's model windows."""
    by_override: dict[int | None, list[WindowSpec]] = defaultdict(list)
    for row in profile.windows.all():
        by_override[row.model_override_id].append(_window_spec(row))
    own = by_override[override.pk] if override is not None else []
    general = by_override[None]
    if own:
        general = [window for window in general if window.scope is not Scope.MODEL]
    return tuple(general + own)


def _window_spec(row: LaneWindow) -> WindowSpec:
    return WindowSpec(
        measure=Measure(row.measure),
        limit=row.limit,
        kind=WindowKind(row.kind),
        window_us=(row.window_s or 0) * SECOND_US,
        period=row.period,
        zone=row.zone,
        scope=Scope(row.scope),
        mode=WindowMode(row.mode),
        slice_us=(row.slice_s or 0) * SECOND_US,
    )


def _rules(profile: LaneProfile, override: ModelOverride | None, windows: tuple[WindowSpec, ...]) -> LaneRules:
    def figure(name: str) -> Any:
        own = getattr(override, name, None) if override is not None else None
        return getattr(profile, name) if own is None else own

    def whole_us(name: str, unit_us: int = SECOND_US) -> int:
        return (figure(name) or 0) * unit_us

    return LaneRules(
        lanes=profile.lanes,
        lanes_per_model=figure("lanes_per_model"),
        max_waiting=profile.max_waiting,
        wait_timeout_us=whole_us("wait_timeout_s"),
        run_timeout_us=whole_us("run_timeout_s"),
        windows=windows,
        burst=whole_us("burst", 1),
        guard_us=whole_us("guard_ms", 1000),
        charge_rule=ChargeRule(figure("charge_rule")),
        fair_by=FairBy(figure("fair_by")),
        on_brief_refusal=OnBriefRefusal(figure("on_brief_refusal")),
        on_disconnect=OnDisconnect(figure("on_disconnect")),
        drain_us=whole_us("drain_s"),
        brief_default_us=whole_us("brief_default_s"),
        used_up_default_us=whole_us("used_up_default_s"),
        adaptive=bool(figure("adaptive")),
        answer_cap=bool(figure("answer_cap")),
        answer_cap_streams=bool(figure("answer_cap_streams")),
    )


def key_of(provider: Provider, model: Model) -> str:
    return f"{provider.slug}/{model.upstream_name}"


def usable_keys(provider: Provider) -> list[CredentialRow]:
    return [row for row in provider.credentials.all() if row.enabled]
