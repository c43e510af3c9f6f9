"""Quota states as rows: written here, read with the configuration. One open row per target."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from providers.contract import RefusalKind
from providers.models import Credential, Model, Provider
from relay_project.quota.states import OpenState
from scheduling.core.spec import Scope
from scheduling.core.tickets import TargetRef
from scheduling.models import QuotaState

KEPT_HISTORY = 20
SOON = timedelta(hours=6)
OFTEN = timedelta(minutes=10)  # account limits, and whatever is back within hours
SELDOM = timedelta(hours=1)


class DatabaseRows:
    """`StateRows` over the ORM, in threads."""

    def __init__(self) -> None:
        self.keep = sync_to_async(keep, thread_sensitive=False)
        self.clear = sync_to_async(clear, thread_sensitive=False)


@transaction.atomic
def keep(state: OpenState) -> None:
    """Write or lengthen the target's open row; a re-closing never shortens."""
    row = _open_row(state.target)
    until = moment(state.until_wall_us)
    if row is None:
        row = _new_row(state)
        if row is None:
            return  # the provider has been deleted meanwhile
    row.until = max(row.until, until)
    row.reason, row.limit_name, row.evidence = state.reason, state.limit_name[:200], state.evidence
    said = {"at": moment(state.since_wall_us).isoformat(), "until": until.isoformat(), "reason": state.reason}
    row.history = [*row.history, said][-KEPT_HISTORY:]
    row.next_probe_at = next_probe(row.until, moment(state.since_wall_us))
    row.save()


@transaction.atomic
def clear(target: TargetRef, why: str, now: datetime) -> None:
    row = _open_row(target)
    if row is not None:
        row.cleared_at = now
        row.history = [*row.history, {"at": now.isoformat(), "cleared": why}][-KEPT_HISTORY:]
        row.save()


def open_states() -> list[OpenState]:
    """All that is used up now, by the database's clock."""
    rows = QuotaState.objects.filter(cleared_at=None, until__gt=Now()).select_related("provider", "model", "credential")
    return [_state_of(row) for row in rows]


def claim_probes(now: datetime) -> list[OpenState]:
    """The states that are due for a probe, claimed: of several processes only one gets each."""
    due = QuotaState.objects.filter(cleared_at=None, until__gt=now, next_probe_at__lte=now)
    return [_state_of(row) for row in due.select_related("provider", "model", "credential") if _claim(row, now)]


def next_probe(until: datetime, now: datetime) -> datetime:
    return now + (OFTEN if until - now <= SOON else SELDOM)


def moment(wall_us: int) -> datetime:
    return datetime.fromtimestamp(wall_us / 1e6, UTC)


def _claim(row: QuotaState, now: datetime) -> bool:
    mine = QuotaState.objects.filter(pk=row.pk, next_probe_at=row.next_probe_at)
    return mine.update(next_probe_at=next_probe(row.until, now)) == 1


def _open_row(target: TargetRef) -> QuotaState | None:
    rows: QuerySet[QuotaState] = QuotaState.objects.filter(
        provider__slug=target.provider, scope=target.scope, cleared_at=None
    ).select_related("provider", "model", "credential")
    return next((row for row in rows.order_by("-until") if target_of(row) == target), None)


def _new_row(state: OpenState) -> QuotaState | None:
    provider = Provider.objects.filter(slug=state.target.provider).first()
    if provider is None:
        return None
    return QuotaState(
        scope=state.target.scope,
        provider=provider,
        model=_model_of(provider, state.target),
        credential=_credential_of(provider, state.target),
        since=moment(state.since_wall_us),
        until=moment(state.until_wall_us),
    )


def _model_of(provider: Provider, target: TargetRef) -> Model | None:
    if target.scope is not Scope.MODEL:
        return None
    return next((model for model in provider.models.all() if _group_of(provider, model) == target.key), None)


def _credential_of(provider: Provider, target: TargetRef) -> Credential | None:
    if target.scope is not Scope.CREDENTIAL:
        return None
    keys: Iterable[Credential] = provider.credentials.all()
    return next((key for key in keys if target.key in (str(key.pk), key.quota_group)), None)


def _state_of(row: QuotaState) -> OpenState:
    return OpenState(
        target=target_of(row),
        until_wall_us=round(row.until.timestamp() * 1e6),
        reason=row.reason,
        limit_name=row.limit_name,
        evidence=row.evidence,
        since_wall_us=round(row.since.timestamp() * 1e6),
    )


def target_of(row: QuotaState) -> TargetRef:
    slug, scope = row.provider.slug, Scope(row.scope)
    if scope is Scope.MODEL and row.model is not None:
        return TargetRef(slug, scope, _group_of(row.provider, row.model))
    if scope is Scope.CREDENTIAL and row.credential is not None:
        key = str(row.credential.pk) if row.reason == RefusalKind.AUTH else row.credential.quota_group
        return TargetRef(slug, scope, key)
    return TargetRef(slug, Scope.PROVIDER)


def _group_of(provider: Provider, model: Model) -> str:
    return model.limit_group or f"{provider.slug}/{model.upstream_name}"
