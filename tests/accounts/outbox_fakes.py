"""A database of the outbox's tests: rows in memory, which may be away or dislike a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from accounts.outbox import DatabaseAway, RecordsRefused, UsageRecord

START_US = 1_790_000_000_000_000
MINUTE_US = 60_000_000


def a_record(request_id: str = "r1", **fields: Any) -> UsageRecord:
    return UsageRecord(**{"request_id": request_id, "created_at_us": START_US, "token_id": 1, **fields})


class FakeDatabase:
    """Keeps the contract of a RowWriter: all or none, idempotent by request id, the latest count."""

    def __init__(self) -> None:
        self.rows: dict[str, UsageRecord] = {}
        self.batches: list[int] = []
        self.writes: Counter[str] = Counter()  # how often each request id was offered
        self.away = False
        self.dislikes: set[str] = set()
        self.meanwhile: Callable[[], None] = lambda: None  # happens while it writes

    def __call__(self, records: Sequence[UsageRecord]) -> None:
        if self.away:
            raise DatabaseAway("connection refused")
        if any(record.request_id in self.dislikes for record in records):
            raise RecordsRefused("value too long")
        self.batches.append(len(records))
        self.meanwhile()
        for record in records:
            self.writes[record.request_id] += 1
            present = self.rows.get(record.request_id)
            if present is None or record.refused_count != present.refused_count:
                self.rows[record.request_id] = record

    def outcomes(self) -> dict[str, str]:
        return {request_id: record.outcome for request_id, record in self.rows.items()}


class Wall:
    """A wall clock set by hand."""

    def __init__(self) -> None:
        self.us = START_US

    def __call__(self) -> int:
        return self.us
