"""Configuration taken over while running: specs become lanes, windows and pools; who waits or runs stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduling.core.axes import AxisKey, AxisPlan, WindowAxis, plan_axes
from scheduling.core.moment import Moment
from scheduling.core.readiness import refresh, refresh_provider
from scheduling.core.spec import (
    FairBy,
    FlowSpec,
    ModelSpec,
    ProviderSpec,
    SchedulerSpec,
    Scope,
    WindowMode,
)
from scheduling.core.state import CredentialRoad, CredentialState, ModelState, Pool, ProviderState, State


def take_over(state: State, spec: SchedulerSpec, now: Moment) -> None:
    """Make `spec` the one in force. Idempotent; what is gone stays known while something runs on it."""
    state.spec = spec
    state.lane.limit = spec.relay.max_running
    for provider_spec in spec.providers.values():
        _take_over_provider(state, provider_spec, now)
    for provider in list(state.providers.values()):
        if provider.spec.key not in spec.providers:
            _retire_provider(state, provider)
    for key, limiter in state.limiters.items():
        limiter.spec = spec.flows.get(key) or FlowSpec(key)
    for model in state.models.values():
        refresh(state, model)


def _take_over_provider(state: State, spec: ProviderSpec, now: Moment) -> None:
    provider = state.providers.get(spec.key)
    if provider is None:
        provider = state.providers[spec.key] = ProviderState(spec, state.next_number())
    provider.spec, provider.rules = spec, spec.rules
    provider.lane.limit = spec.rules.lanes if spec.rules else 0
    _take_over_credentials(provider)
    for model_spec in spec.models.values():
        _take_over_model(state, provider, model_spec)
    _retire_models(state, provider)
    _build_axes(provider)
    _build_pools(state, provider, now)


def _take_over_credentials(provider: ProviderState) -> None:
    known = provider.credentials
    provider.credentials = {spec.id: known.get(spec.id) or CredentialState(spec) for spec in provider.spec.credentials}
    for spec in provider.spec.credentials:
        credential = provider.credentials[spec.id]
        credential.spec, credential.lane.limit = spec, spec.lanes


def _take_over_model(state: State, provider: ProviderState, spec: ModelSpec) -> None:
    model = state.models.get(spec.key)
    if model is None:
        model = ModelState(spec, provider, state.next_number())
        state.models[spec.key] = provider.models[spec.key] = model
    model.spec, model.rules = spec, spec.rules
    model.lane.limit = spec.rules.lanes_per_model
    fair = spec.rules.fair_by is FairBy.USER
    for lines in model.lines:
        if lines.fair is not fair:
            lines.resort(fair=fair)


def _retire_models(state: State, provider: ProviderState) -> None:
    for key, model in list(provider.models.items()):
        if key not in provider.spec.models and not model.waiting and not model.lane.running:
            _leave_order(state, model)
            del provider.models[key], state.models[key]


def _retire_provider(state: State, provider: ProviderState) -> None:
    if provider.lane.running or provider.roll.count:
        return
    for key, model in list(provider.models.items()):
        _leave_order(state, model)
        del state.models[key]
    del state.providers[provider.spec.key]


def _leave_order(state: State, model: ModelState) -> None:
    state.dues.drop(model.pool)
    for ready in model.provider.ready:
        ready.drop(model)
    refresh_provider(state, model.provider)


def _build_axes(provider: ProviderState) -> None:
    """One axis per key; where models that share one name different limits, the lowest rules."""
    plans: dict[AxisKey, AxisPlan] = {}
    for model in provider.models.values():
        for group in _groups(model):
            for plan in plan_axes(model.rules):
                if _hangs_on(plan, group):
                    key = plan.key(group[1])
                    plans[key] = min(plans.get(key, plan), plan, key=lambda one: one.limit)
    known, provider.axes = provider.axes, {}
    for key, plan in plans.items():
        axis = known.get(key)
        if axis is None or (axis.pacer is None) != (plan.interval_us == 0):
            axis = WindowAxis(key, plan)
        axis.retune(plan)
        provider.axes[key] = axis
    for model in provider.models.values():
        _wire(provider, model)


def _wire(provider: ProviderState, model: ModelState) -> None:
    shared = [(Scope.PROVIDER, ""), (Scope.MODEL, model.spec.limit_group)]
    if not provider.spec.credentials:
        shared.append((Scope.CREDENTIAL, ""))
    model.windows, model.estimates = _axes_on(provider, model, shared)
    model.roads = None
    if provider.spec.credentials:
        model.roads = tuple(
            CredentialRoad(one, *_axes_on(provider, model, [(Scope.CREDENTIAL, one.spec.quota_group)]))
            for one in usable_credentials(provider, model.spec.key)
        )


def usable_credentials(provider: ProviderState, model_key: str) -> list[CredentialState]:
    """Those bound to the model, if any is; else those that are not bound."""
    every = [provider.credentials[spec.id] for spec in provider.spec.credentials]
    bound = [one for one in every if one.spec.model == model_key]
    return bound or [one for one in every if one.spec.model is None]


def _groups(model: ModelState) -> Iterator[tuple[Scope, str]]:
    yield Scope.PROVIDER, ""
    yield Scope.MODEL, model.spec.limit_group
    yield Scope.CREDENTIAL, ""
    groups = dict.fromkeys(spec.quota_group for spec in model.provider.spec.credentials)
    yield from ((Scope.CREDENTIAL, group) for group in groups if group)


def _hangs_on(plan: AxisPlan, group: tuple[Scope, str]) -> bool:
    return plan.spec.scope is group[0]


def _axes_on(
    provider: ProviderState, model: ModelState, groups: Iterable[tuple[Scope, str]]
) -> tuple[tuple[WindowAxis, ...], tuple[WindowAxis, ...]]:
    """The model's axes on these groups: those that bind, and those that are only shown. Equal windows are one axis."""
    axes = dict.fromkeys(
        provider.axes[plan.key(group[1])]
        for group in groups
        for plan in plan_axes(model.rules)
        if _hangs_on(plan, group)
    )
    enforced = tuple(axis for axis in axes if axis.mode is WindowMode.ENFORCED)
    return enforced, tuple(axis for axis in axes if axis.mode is WindowMode.ESTIMATE)


def _build_pools(state: State, provider: ProviderState, now: Moment) -> None:
    """Models that share an axis or a credential share a pool. All are awake: everything is looked at anew."""
    pool_of: dict[object, Pool] = {}
    for model in provider.models.values():
        model.note_paced(None, now.us)
        state.dues.drop(model.pool)
        model.pool = Pool(state.next_number())
    for model in provider.models.values():
        for shared in _shared(model):
            known = pool_of.setdefault(shared, model.pool)
            if known is not model.pool:
                _merge(provider, pool_of, model.pool, known)


def _merge(provider: ProviderState, pool_of: dict[object, Pool], gone: Pool, kept: Pool) -> None:
    for model in provider.models.values():
        if model.pool is gone:
            model.pool = kept
    for shared, pool in pool_of.items():
        if pool is gone:
            pool_of[shared] = kept


def _shared(model: ModelState) -> Iterator[object]:
    yield from model.windows
    for road in model.roads or ():
        yield road.credential
        yield from road.windows
