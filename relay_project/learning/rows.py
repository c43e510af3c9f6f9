"""Findings as rows, so that all processes know them and a restart forgets nothing. Blocking: called in threads.

A row that no longer holds stays as a mark for a day (its `until` has passed): the highest revision must not go down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max

from relay_project.models import LearnedLimit
from scheduling.core.learned import Finding, LimitKey, Source

KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all processes know, and how many changes it took."""

    findings: Mapping[LimitKey, Finding]
    revision: int


def read_findings(now: datetime) -> Shared:
    rows = list(LearnedLimit.objects.all())
    return Shared(
        {_key_of(row): _finding_of(row) for row in rows if row.until > now},
        max((row.revision for row in rows), default=0),
    )


@transaction.atomic
def write_findings(changes: Mapping[LimitKey, Finding | None], revision: int, now: datetime) -> None:
    """One change of all: `revision` is the writer's own count, and the rows' never goes back. The latest word stays."""
    highest = LearnedLimit.objects.aggregate(highest=Max("revision"))["highest"] or 0
    revision = max(revision, highest + 1)
    for key, finding in changes.items():
        heard_at = now if finding is None else moment(finding.heard_us)
        row = LearnedLimit.objects.filter(**asdict(key)).first()
        row = row or LearnedLimit(**asdict(key), since=heard_at, heard_at=heard_at)
        if row.heard_at <= heard_at:
            _fill(row, finding, heard_at)
            row.revision = revision
            row.save()
    LearnedLimit.objects.filter(until__lt=now - KEPT, revision__lt=revision).delete()


def moment(wall_us: int) -> datetime:
    return datetime.fromtimestamp(wall_us / 1e6, UTC)


def _fill(row: LearnedLimit, finding: Finding | None, heard_at: datetime) -> None:
    row.heard_at = row.until = heard_at
    if finding is not None:
        row.figure, row.configured, row.evidence = finding.figure, finding.configured, finding.evidence[:200]
        row.since, row.until = moment(finding.since_us), moment(finding.until_us)


def _key_of(row: LearnedLimit) -> LimitKey:
    names: dict[str, Any] = {name: getattr(row, name) for name in LearnedLimit.KEY}
    return LimitKey(**names | {"source": Source(row.source)})


def _finding_of(row: LearnedLimit) -> Finding:
    return Finding(
        figure=row.figure,
        configured=row.configured,
        since_us=_us(row.since),
        heard_us=_us(row.heard_at),
        until_us=_us(row.until),
        evidence=row.evidence,
    )


def _us(at: datetime) -> int:
    return round(at.timestamp() * 1e6)
