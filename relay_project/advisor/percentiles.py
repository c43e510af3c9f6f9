"""Percentiles of usage rows, found by the database itself: the same statement on SQLite and PostgreSQL.

Nearest rank: of `n` values in order the ⌈n·p/100⌉th. Only those rows come back, whatever the table holds; and only the
latest rows are looked at, so a busy day costs no more than a quiet one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import RowNumber

from accounts.models import UsageRow

LATEST_ROWS = 20_000

Group = tuple[str, ...]


@dataclass(slots=True)
class Percentiles:
    """Of one group. `of`: how many values it has."""

    of: int
    values: dict[int, int] = field(default_factory=dict)  # percent → value


def percentiles(
    rows: QuerySet[UsageRow], measured: str, by: Sequence[str], percents: Sequence[int]
) -> dict[Group, Percentiles]:
    """Group, as the values of `by` → its percentiles of the field `measured`. One query."""
    ranks = Q()
    for percent in percents:
        ranks |= Q(place=_rank(percent))
    placed = latest(rows).annotate(
        place=Window(RowNumber(), partition_by=list(by), order_by=[measured]),
        of=Window(Count("pk"), partition_by=list(by)),
    )
    found: dict[Group, Percentiles] = {}
    for *group, place, of, value in placed.filter(ranks).order_by().values_list(*by, "place", "of", measured):
        mine = found.setdefault(tuple(group), Percentiles(of))
        mine.values |= {percent: value for percent in percents if place == -(-of * percent // 100)}
    return found


def latest(rows: QuerySet[UsageRow], most: int = LATEST_ROWS) -> QuerySet[UsageRow]:
    """The last ones of them, to be filtered and summed further."""
    return UsageRow.objects.filter(pk__in=rows.order_by("-created_at").values("pk")[:most])


def _rank(percent: int) -> CombinedExpression:
    """⌈of · percent / 100⌉, in whole numbers."""
    return (F("of") * percent + 99) / 100
