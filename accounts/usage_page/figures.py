"""What the database sums up for one member: three queries however many rows there are, one for the latest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Avg, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDay, TruncHour
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import UsageRow, User
from accounts.outcomes import Outcome
from accounts.usage_page.words import a_duration, a_number, a_percentage, money, short_number

RECENT_ROWS = 50
LONG_WAIT_MS = 5_000
REFUSED = Q(outcome__in=[Outcome.REFUSED, Outcome.REJECTED, Outcome.EVICTED, Outcome.QUEUE_TIMEOUT])
REFUSED_OR_SLOW = REFUSED | Q(queue_ms__gt=LONG_WAIT_MS)
TOKENS = Coalesce(F("prompt_tokens"), 0) + Coalesce(F("completion_tokens"), 0)


@dataclass(frozen=True, slots=True)
class Totals:
    requests: int
    tokens: int
    cost_microusd: int | None  # None = nothing that had a price
    refused_or_slow: int

    @property
    def share(self) -> float | None:
        """Refused or waited over 5 s, in percent; None without requests."""
        return 100 * self.refused_or_slow / self.requests if self.requests else None


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the four figures that matter."""

    name: str
    value: str
    change: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ModelLine:
    model: str
    provider: str
    requests: str
    tokens: str
    tokens_exactly: str
    cost: str
    first_token: str
    wait: str
    refused: str
    any_refused: bool


def rows_of(user: User, since: datetime, until: datetime) -> QuerySet[UsageRow]:
    """A member's own rows, and nobody else's."""
    return UsageRow.objects.filter(user=user, created_at__gte=since, created_at__lt=until)


def count_totals(user: User, since: datetime, until: datetime) -> tuple[Totals, Totals]:
    """Now, and the equally long stretch before; one query."""
    before_since = since - (until - since)
    now, before = Q(created_at__gte=since), Q(created_at__lt=since)
    sums = rows_of(user, before_since, until).aggregate(**_sums("now", now), **_sums("before", before))
    return _totals(sums, "now"), _totals(sums, "before")


def _sums(prefix: str, when: Q) -> dict[str, Any]:
    return {
        f"{prefix}_requests": Sum("refused_count", filter=when),
        f"{prefix}_tokens": Sum(TOKENS, filter=when),
        f"{prefix}_cost": Sum("cost_microusd", filter=when),
        f"{prefix}_refused_or_slow": Sum("refused_count", filter=when & REFUSED_OR_SLOW),
    }


def _totals(sums: dict[str, int | None], prefix: str) -> Totals:
    return Totals(
        requests=sums[f"{prefix}_requests"] or 0,
        tokens=sums[f"{prefix}_tokens"] or 0,
        cost_microusd=sums[f"{prefix}_cost"],
        refused_or_slow=sums[f"{prefix}_refused_or_slow"] or 0,
    )


def count_by_role(user: User, since: datetime, until: datetime, unit: str) -> dict[tuple[datetime, str], int]:
    """Requests per slot start and role ("" = called by model name); one query."""
    slot = TruncHour("created_at") if unit == "hour" else TruncDay("created_at")
    rows = rows_of(user, since, until).order_by().annotate(slot=slot).values("slot", "role")
    counted = rows.annotate(requests=Sum("refused_count")).values_list("slot", "role", "requests")
    return {(start, role): requests for start, role, requests in counted}


def list_models(user: User, since: datetime, until: datetime) -> list[ModelLine]:
    """Most used first; one query."""
    rows = rows_of(user, since, until).order_by().values("model", "provider")
    summed = rows.annotate(
        requests=Sum("refused_count"),
        tokens=Sum(TOKENS),
        cost=Sum("cost_microusd"),
        first_token_ms=Avg("ttft_ms"),
        wait_ms=Avg("queue_ms"),
        refused=Coalesce(Sum("refused_count", filter=REFUSED), 0),
    )
    return [_model_line(sums) for sums in summed.order_by("-requests", "model")]


def _model_line(sums: Mapping[str, Any]) -> ModelLine:
    first_token_ms = sums["first_token_ms"]
    return ModelLine(
        model=sums["model"],
        provider=sums["provider"],
        requests=a_number(sums["requests"]),
        tokens=short_number(sums["tokens"]),
        tokens_exactly=a_number(sums["tokens"]),
        cost=money(sums["cost"]),
        first_token="–" if first_token_ms is None else a_duration(first_token_ms),
        wait=a_duration(sums["wait_ms"]),
        refused=a_number(sums["refused"]),
        any_refused=sums["refused"] > 0,
    )


def list_recent(user: User, since: datetime, until: datetime) -> Sequence[UsageRow]:
    rows = rows_of(user, since, until).select_related("token")
    return list(rows.order_by("-created_at", "-pk")[:RECENT_ROWS])


def the_four(now: Totals, before: Totals, before_name: str) -> list[Figure]:
    """Requests, tokens, cost, and the share that was refused or waited long."""
    return [
        Figure(_("Requests"), a_number(now.requests), _change(now.requests, before.requests, before_name)),
        Figure(_("Tokens"), a_number(now.tokens), _change(now.tokens, before.tokens, before_name)),
        _cost(now, before, before_name),
        _refused_or_slow(now, before, before_name),
    ]


def _cost(now: Totals, before: Totals, before_name: str) -> Figure:
    unpriced = now.tokens > 0 and now.cost_microusd is None
    return Figure(
        _("Cost"),
        money(now.cost_microusd),
        _change(now.cost_microusd or 0, before.cost_microusd or 0, before_name),
        note=_("These models have no prices yet.") if unpriced else "",
    )


def _refused_or_slow(now: Totals, before: Totals, before_name: str) -> Figure:
    count = now.refused_or_slow
    requests = ngettext("%(count)s request", "%(count)s requests", count) % {"count": a_number(count)}
    if before.share is None:
        change = _("nothing to compare in %(before)s") % {"before": before_name}
    else:
        change = _("%(share)s in %(before)s") % {"share": a_percentage(before.share), "before": before_name}
    return Figure(
        _("Refused, or waited over 5 s"),
        "–" if now.share is None else a_percentage(now.share),
        change,
        note=requests if count else "",
    )


def _change(now: int, before: int, before_name: str) -> str:
    if not before:
        return _("nothing in %(before)s") % {"before": before_name}
    percent = 100 * (now - before) / before
    if abs(percent) < 0.5:
        return _("as in %(before)s") % {"before": before_name}
    change = f"{'▲' if percent > 0 else '▼'}\N{NO-BREAK SPACE}{a_percentage(abs(percent), 0)}"
    return _("%(change)s vs %(before)s") % {"change": change, "before": before_name}
