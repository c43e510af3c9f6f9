"""How requests fared, by provider: the last hour's waits and refusals, and what of today's allowance is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import UsageRow
from accounts.outcomes import Outcome
from accounts.usage_page.figures import REFUSED, TOKENS
from providers.models import Provider
from relay_project.advisor.percentiles import Percentiles, percentiles
from scheduling.core.periods import period_bounds
from scheduling.core.spec import Measure, Scope, WindowKind
from scheduling.models import LaneWindow

HOUR = timedelta(hours=1)
NOT_SENT = (Outcome.REJECTED, Outcome.EVICTED, Outcome.QUEUE_TIMEOUT)
PROVIDERS_COUNT = (Measure.REQUESTS, Measure.TOTAL_TOKENS)  # what a day's allowance is given in
SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class UsedOf:
    """What is used of a day's allowance, of the model where most is."""

    measure: str
    used: int
    limit: int
    model: str = ""  # public name; "" = the whole provider


@dataclass(frozen=True, slots=True)
class Traffic:
    """Of one provider. "" is its name where a request reached none."""

    requests: int = 0  # in the last hour
    refused: int = 0  # of these, by us or by the provider
    waits: Percentiles = field(default_factory=lambda: Percentiles(0))  # 50 and 95, ms, in the last hour
    requests_today: int = 0
    tokens_today: int = 0
    cost_microusd_today: int | None = None  # None = nothing that had a price
    used_of: UsedOf | None = None

    @property
    def refused_share(self) -> float | None:
        """In percent; None without requests."""
        return 100 * self.refused / self.requests if self.requests else None


def load_traffic(providers: Sequence[Provider], now: datetime) -> dict[str, Traffic]:
    """By provider slug; three queries. `providers` come with their lane profiles."""
    windows = _day_windows(providers)
    today = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    starts = {zone: _day_start(now, zone) for zone in sorted({window.zone for window in windows})}
    waits = percentiles(UsageRow.objects.filter(created_at__gte=now - HOUR), "queue_ms", ("provider",), (50, 95))
    sums = _sums(min([now - HOUR, today, *starts.values()]), now, today, list(starts.values()))
    slots = {zone: number for number, zone in enumerate(starts)}
    slugs = {provider.lane_profile_id: provider.slug for provider in providers}
    allowed = {slugs[window.profile_id]: window for window in windows}
    rows = _by_provider(sums)
    return {
        slug: _traffic(rows.get(slug, []), waits.get((slug,)), _fullest(rows.get(slug, []), allowed.get(slug), slots))
        for slug in {*rows, *slugs.values()}
    }


def _day_windows(providers: Sequence[Provider]) -> list[LaneWindow]:
    """The days' allowances of whole profiles, at most one of each: requests before tokens."""
    profiles = [provider.lane_profile_id for provider in providers if provider.lane_profile_id]
    windows = LaneWindow.objects.filter(
        profile__in=profiles,
        model_override=None,
        kind=WindowKind.CALENDAR,
        period="day",
        measure__in=PROVIDERS_COUNT,
    )
    return list({window.profile_id: window for window in windows.order_by("-measure", "-pk")}.values())


def _day_start(now: datetime, zone: str) -> datetime:
    start_us, _end_us = period_bounds(round(now.timestamp() * SECOND_US), "day", zone)
    return datetime.fromtimestamp(start_us / SECOND_US, UTC)


def _sums(since: datetime, now: datetime, today: datetime, starts: Sequence[datetime]) -> QuerySet[UsageRow, Any]:
    """Provider and model → sums over the last hour, over today, and since each of `starts`."""
    hour, day = Q(created_at__gte=now - HOUR), Q(created_at__gte=today)
    since_starts: dict[str, Any] = {}
    for number, start in enumerate(starts):
        sent = Q(created_at__gte=start) & ~Q(outcome__in=NOT_SENT)
        since_starts[f"requests_{number}"] = Count("pk", filter=sent)
        since_starts[f"total_tokens_{number}"] = Coalesce(Sum(TOKENS, filter=sent), 0)
    rows = UsageRow.objects.filter(created_at__gte=since).order_by()
    return rows.values("provider", "model").annotate(
        hour=Coalesce(Sum("refused_count", filter=hour), 0),
        refused=Coalesce(Sum("refused_count", filter=hour & REFUSED), 0),
        today=Coalesce(Sum("refused_count", filter=day), 0),
        tokens=Coalesce(Sum(TOKENS, filter=day), 0),
        cost=Sum("cost_microusd", filter=day),
        **since_starts,
    )


Row = Mapping[str, Any]


def _by_provider(rows: Iterable[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row["provider"], []).append(row)
    return grouped


def _traffic(rows: Sequence[Row], waits: Percentiles | None, used_of: UsedOf | None) -> Traffic:
    costs = [row["cost"] for row in rows if row["cost"] is not None]
    return Traffic(
        requests=sum(row["hour"] for row in rows),
        refused=sum(row["refused"] for row in rows),
        waits=waits or Percentiles(0),
        requests_today=sum(row["today"] for row in rows),
        tokens_today=sum(row["tokens"] for row in rows),
        cost_microusd_today=sum(costs) if costs else None,
        used_of=used_of,
    )


def _fullest(rows: Sequence[Row], window: LaneWindow | None, slots: Mapping[str, int]) -> UsedOf | None:
    """A provider's window is filled by all its models together, a model's by each alone."""
    if window is None:
        return None
    used = {row["model"]: row[f"{window.measure}_{slots[window.zone]}"] for row in rows}
    if window.scope != Scope.MODEL:
        return UsedOf(window.measure, sum(used.values()), window.limit)
    model = max(used, key=lambda name: used[name], default="")
    return UsedOf(window.measure, used.get(model, 0), window.limit, model)
