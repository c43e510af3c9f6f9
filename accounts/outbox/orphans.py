"""A dead process's journal into rows: results as they stand, and every intent without one as `relay_lost`."""

from __future__ import annotations

import logging
from pathlib import Path

from accounts.outbox.drain import decode_lines, results_in
from accounts.outbox.journal import journals, lock_if_dead, read_lines, remove_journal, segment_paths
from accounts.outbox.record import Line, UsageRecord
from accounts.outbox.writing import RowWriter, write_or_set_aside

log = logging.getLogger(__name__)


def adopt_orphans(folder: Path, write: RowWriter, aside: Path, batch_lines: int) -> int:
    """Take over the journals of processes that have ended; how many.

    Raises DatabaseAway: the rest stays as it is.
    """
    adopted = 0
    for journal in journals(folder):
        with lock_if_dead(journal) as held:
            if held:
                _Adoption(journal, write, aside, batch_lines).run()
                adopted += 1
    return adopted


class _Adoption:
    def __init__(self, journal: Path, write: RowWriter, aside: Path, batch_lines: int) -> None:
        self._journal = journal
        self._write = write
        self._aside = aside
        self._batch_lines = batch_lines
        self._unsettled: dict[str, UsageRecord] = {}

    def run(self) -> None:
        for path in segment_paths(self._journal):
            self._read_segment(path)
        self._write_lost()
        remove_journal(self._journal)

    def _read_segment(self, path: Path) -> None:
        lines, offset = read_lines(path, 0, self._batch_lines)
        while lines:
            self._move(decode_lines(lines, self._aside))
            lines, offset = read_lines(path, offset, self._batch_lines)

    def _move(self, lines: list[Line]) -> None:
        write_or_set_aside(results_in(lines), self._write, self._aside)
        for line in lines:
            if line.result is not None:
                self._unsettled.pop(line.result.request_id, None)
            elif intent := line.intent or line.carried:
                self._unsettled[intent.request_id] = intent

    def _write_lost(self) -> None:
        """Last: an intent carried on after its result is still held here, and finds its row already there."""
        lost = [record.lost() for record in self._unsettled.values()]
        for start in range(0, len(lost), self._batch_lines):
            write_or_set_aside(lost[start : start + self._batch_lines], self._write, self._aside)
        if lost:
            log.warning("a relay process ended with %d requests running; they are booked as relay_lost", len(lost))
