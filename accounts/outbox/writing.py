"""What a writer of rows may answer, and what becomes of a record that no database will take."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from accounts.outbox.record import UsageRecord, encode_result

log = logging.getLogger(__name__)

RowWriter = Callable[[Sequence[UsageRecord]], None]
"""Writes all records or none; a record whose request id is there already changes nothing (but its
`refused_count`, which follows the latest). Raises `DatabaseAway` or `RecordsRefused`."""


class DatabaseAway(Exception):
    """Not now; the same records may be written later."""


class RecordsRefused(Exception):
    """At least one of these records cannot be written as it is, however often it is tried."""


def write_or_set_aside(records: Sequence[UsageRecord], write: RowWriter, aside: Path) -> None:
    """Write all that can be written. One bad record must not stop the books, so it goes to the file `aside`.

    Raises DatabaseAway; then some may be written already, and writing them again does no harm.
    """
    if not records:
        return
    try:
        write(records)
    except RecordsRefused as refusal:
        if len(records) == 1:
            log.error("usage record %s is kept in %s: %s", records[0].request_id, aside.name, refusal)
            set_aside([encode_result(records[0])], aside)
            return
        half = len(records) // 2
        write_or_set_aside(records[:half], write, aside)
        write_or_set_aside(records[half:], write, aside)


def set_aside(lines: Iterable[bytes], aside: Path) -> None:
    with aside.open("ab") as file:
        file.writelines(lines)
