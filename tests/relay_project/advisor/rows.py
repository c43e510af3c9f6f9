"""Providers and usage rows in a line, for the advisor's and the admin home's tests."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from accounts.models import UsageRow
from providers.models import Model, Provider
from scheduling.models import LaneProfile
from scheduling.presets import create_profile

_numbers = itertools.count()


def make_provider(slug: str = "p", preset: str = "openai", **figures: Any) -> Provider:
    """An enabled, verified one with a model `<slug>-m`; `figures` change its lane profile."""
    profile = create_profile(preset, slug)
    LaneProfile.objects.filter(pk=profile.pk).update(**figures)
    provider = Provider.objects.create(
        slug=slug,
        name=slug.upper(),
        vendor=preset,
        dialect="openai_chat",
        enabled=True,
        connection_state="verified",
        lane_profile=LaneProfile.objects.get(pk=profile.pk),
    )
    Model.objects.create(provider=provider, upstream_name="m", public_name=f"{slug}-m")
    return provider


def row(
    slug: str = "p", *, ago: timedelta = timedelta(minutes=1), now: datetime | None = None, **fields: Any
) -> UsageRow:
    usual: dict[str, Any] = {
        "request_id": f"req-{next(_numbers)}",
        "created_at": (now or timezone.now()) - ago,
        "provider": slug,
        "model": f"{slug}-m" if slug else "",
        "outcome": "completed",
        "klass": "interactive",
        "run_ms": 1000,
        "prompt_tokens": 10,
        "completion_tokens": 5,
    }
    return UsageRow(**{**usual, **fields})


def book(*rows: UsageRow) -> None:
    UsageRow.objects.bulk_create(rows)
