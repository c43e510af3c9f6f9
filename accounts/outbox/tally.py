"""Many rejections into one row. A client that runs into the same wall thousands of times a minute is told
each time, but fills no table: its first rejections of a minute get a row each, all further ones share one.

The shared row has a request id of its own and a count. Every further rejection says the row again with a
higher count, so the count is as safe from a kill as any other record, and no timer is needed to close a
minute.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from accounts.outbox.record import UsageRecord

MINUTE_US = 60_000_000


class RejectionTally:
    """Counts one process's rejections per personal token (or user, where a browser called) and minute."""

    def __init__(self, name: str, rows_per_minute: int, wall_us: Callable[[], int]) -> None:
        self._name = name  # distinguishes processes
        self._rows_per_minute = rows_per_minute
        self._wall_us = wall_us
        self._minute = -1
        self._counts: dict[str, int] = {}  # of this minute only: bounded by the live tokens

    def fold(self, record: UsageRecord) -> UsageRecord:
        """The record itself, or the minute's shared one with its count raised."""
        minute = self._wall_us() // MINUTE_US
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
        owner = f"u{record.user_id}" if record.token_id is None else f"t{record.token_id}"
        count = self._counts[owner] = self._counts.get(owner, 0) + 1
        if count <= self._rows_per_minute:
            return record
        shared_id = f"rejected-{owner}-{minute}-{self._name}"
        return msgspec.structs.replace(record, request_id=shared_id, refused_count=count - self._rows_per_minute)
