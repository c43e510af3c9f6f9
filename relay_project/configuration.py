"""One number that grows with every change of the configuration, so that every process sees that it must read again.

A row of a watched model that is saved or deleted bumps it, in the same transaction where there is one (the
admin's saves always have one). `QuerySet.update` sends no signals: code that uses it on a watched model calls
`bump()`. Other processes look at the number twice a second; in the one that made the change `configuration_changed` is
sent as soon as the change is committed, so that it acts at once.
"""

from __future__ import annotations

from typing import Any

from django.db import models, transaction
from django.db.models import F
from django.db.models.signals import post_delete, post_save
from django.dispatch import Signal

from accounts.models import PersonalToken, Team, User
from providers.models import Credential, Model, Provider
from relay_project.models import ConfigurationVersion
from scheduling.models import (
    LaneProfile,
    LaneWindow,
    ModelOverride,
    QuotaState,
    RelayLimits,
    Role,
    RoleCandidate,
)

configuration_changed = Signal()  # in the thread that made the change, after its commit

# Watched model → fields that are bookkeeping, not configuration: saving only those (update_fields) bumps nothing.
WATCHED: dict[type[models.Model], frozenset[str]] = {
    Team: frozenset(),
    User: frozenset({"last_login", "password"}),
    PersonalToken: frozenset({"last_used_at"}),
    Provider: frozenset(
        {
            "connection_state",
            "verified_at",
            "failed_stage",
            "failed_reason",
            "last_check_at",
            "last_check_ms",
            "upstream_models",
        }
    ),
    Credential: frozenset(),
    Model: frozenset(),
    RelayLimits: frozenset(),
    LaneProfile: frozenset(),
    LaneWindow: frozenset(),
    ModelOverride: frozenset(),
    Role: frozenset(),
    RoleCandidate: frozenset(),
    QuotaState: frozenset({"history", "evidence", "next_probe_at"}),
}


def current_version() -> int:
    """0 until anything has been configured."""
    return ConfigurationVersion.objects.filter(pk=1).values_list("number", flat=True).first() or 0


def bump() -> None:
    """Tell every process that the configuration has changed."""
    if not ConfigurationVersion.objects.filter(pk=1).update(number=F("number") + 1):
        # Two processes may both find no row: the second insert is ignored, its update is not.
        ConfigurationVersion.objects.bulk_create([ConfigurationVersion(pk=1)], ignore_conflicts=True)
        ConfigurationVersion.objects.filter(pk=1).update(number=F("number") + 1)
    transaction.on_commit(lambda: configuration_changed.send(sender=ConfigurationVersion))


def watch() -> None:
    """Called once, when the apps are ready."""
    for model in WATCHED:
        post_save.connect(_saved, sender=model, dispatch_uid=f"configuration-saved-{model._meta.label}")
        post_delete.connect(_deleted, sender=model, dispatch_uid=f"configuration-deleted-{model._meta.label}")


def _saved(sender: type[models.Model], update_fields: frozenset[str] | None = None, **_: Any) -> None:
    if update_fields is None or not update_fields <= WATCHED[sender]:
        bump()


def _deleted(**_: Any) -> None:
    bump()
