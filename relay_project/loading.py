"""Rows → `Configuration`, in a fixed number of queries: where the three apps' rows meet for the hot path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import structlog

from accounts.models import PersonalToken, Team, User
from providers.contract import Credential
from providers.models import Provider
from providers.presets import VENDORS
from providers.sealing import UnsealError
from relay_project.configuration import current_version
from relay_project.lane_loading import key_of, provider_spec, relay_spec, usable_keys
from relay_project.quota.rows import open_states
from relay_project.snapshot import Caller, Configuration, ModelEntry, ProviderEntry, RoleEntry
from scheduling.core.spec import Class, FlowSpec, SchedulerSpec
from scheduling.models import RelayLimits, Role

log = structlog.get_logger(__name__)

SECOND_US = 1_000_000


def load_configuration() -> Configuration:
    """Read everything. The version is read first: a change made meanwhile is seen as a newer version next time."""
    version = current_version()
    providers = list(
        Provider.objects.select_related("lane_profile").prefetch_related(
            "credentials", "models", "lane_profile__windows", "lane_profile__overrides"
        )
    )
    models = {entry.key: entry for provider in providers for entry in _model_entries(provider)}
    return Configuration(
        version=version,
        callers=dict(_callers()),
        providers={provider.slug: _provider_entry(provider) for provider in providers},
        models=models,
        models_by_name={entry.public_name: entry for entry in models.values()},
        roles={role.name: role for role in _roles()},
        used_up=tuple(open_states()),
        scheduler=SchedulerSpec(
            version=version,
            relay=relay_spec(RelayLimits.current()),
            providers={provider.slug: provider_spec(provider) for provider in providers},
            flows=_flow_specs(),
        ),
    )


def _callers() -> Iterable[tuple[str, Caller]]:
    tokens = PersonalToken.objects.select_related("user", "team").filter(revoked_at=None, user__is_active=True)
    for token in tokens:
        yield token.sha256, caller_of_token(token)


def caller_of_token(token: PersonalToken) -> Caller:
    user = token.user
    team_id = token.team_id or user.team_id
    limits = [f"user:{user.pk}", f"token:{token.pk}", *([f"team:{team_id}"] if team_id else [])]
    return Caller(
        user_id=user.pk,
        token_id=token.pk,
        team_id=team_id,
        flow=f"team:{token.team_id}" if token.team_id else f"user:{user.pk}",
        limits=tuple(limits),
        class_cap=Class[token.class_cap.upper()],
        scopes=frozenset(token.scopes),
        expires_wall_us=_wall_us(token.expires_at),
        is_staff=user.is_staff,
    )


def caller_of_session(user: User) -> Caller:
    """A signed-in person in the browser."""
    limits = (f"user:{user.pk}", *([f"team:{user.team_id}"] if user.team_id else []))
    return Caller(
        user_id=user.pk,
        token_id=None,
        team_id=user.team_id,
        flow=f"user:{user.pk}",
        limits=limits,
        scopes=frozenset({"chat", "models", "queue"}),
        is_staff=user.is_staff,
    )


def _wall_us(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * SECOND_US)


def _model_entries(provider: Provider) -> Iterable[ModelEntry]:
    for model in provider.models.all():
        yield ModelEntry(
            key=key_of(provider, model),
            public_name=model.public_name,
            provider=provider.slug,
            upstream_name=model.upstream_name,
            enabled=model.enabled and provider.enabled,
            context_window=model.context_window,
            max_output=model.max_output,
            capabilities=frozenset(model.capabilities),
            input_microusd_per_mtok=model.input_microusd_per_mtok,
            output_microusd_per_mtok=model.output_microusd_per_mtok,
            cached_input_microusd_per_mtok=model.cached_input_microusd_per_mtok,
            created_s=int(model.created_at.timestamp()),
            split_advice=model.split_advice,
            advised_concurrency=model.advised_concurrency,
            limit_group=model.limit_group or key_of(provider, model),
        )


def _provider_entry(provider: Provider) -> ProviderEntry:
    vendor = VENDORS.get(provider.vendor)
    return ProviderEntry(
        slug=provider.slug,
        name=provider.name,
        vendor=provider.vendor,
        dialect=provider.dialect,
        base_url=provider.base_url.rstrip("/"),
        enabled=provider.enabled,
        credentials=dict(_unsealed(provider)),
        headers=dict(vendor.headers) if vendor else {},
        quota_groups={str(row.pk): row.quota_group for row in usable_keys(provider)},
        account_wide=bool(vendor and vendor.account_wide),
        silence_s=vendor.adapter_cap_s if vendor else None,
    )


def _unsealed(provider: Provider) -> Iterable[tuple[str, Credential]]:
    for row in usable_keys(provider):
        try:
            yield str(row.pk), Credential(id=str(row.pk), label=row.label, key=row.key)
        except UnsealError as error:
            # Loud, and only this key: the others go on. The system check and the admin show it too.
            log.error("an API key cannot be unsealed", provider=provider.slug, label=row.label, why=str(error))


def _flow_specs() -> Mapping[str, FlowSpec]:
    rows: list[tuple[str, User | Team | PersonalToken]] = [
        *((f"user:{user.pk}", user) for user in User.objects.filter(is_active=True)),
        *((f"team:{team.pk}", team) for team in Team.objects.all()),
        *((f"token:{token.pk}", token) for token in PersonalToken.objects.filter(revoked_at=None)),
    ]
    return {
        key: FlowSpec(
            key=key,
            weight=getattr(row, "weight", 1),
            concurrency=row.max_concurrent,
            rpm=row.rpm,
            tpm=row.tpm,
        )
        for key, row in rows
    }


def _roles() -> Iterable[RoleEntry]:
    roles = Role.objects.filter(enabled=True).prefetch_related("candidates__model__provider")
    for role in roles:
        ordered = sorted(role.candidates.all(), key=lambda candidate: candidate.position)
        yield RoleEntry(
            name=role.name,
            description=role.description,
            strategy=role.strategy,
            patience_s=float(role.patience_s),
            candidates=tuple(candidate.model.key for candidate in ordered),
        )
