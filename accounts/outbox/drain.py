"""A live journal into rows. The drain reads behind the writer, remembers which intents have no result yet,
and moves on only after the rows are written; killed anywhere, whoever reads the journal again writes the same
rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from accounts.outbox.journal import Journal, read_lines, segment_path
from accounts.outbox.record import Line, UsageRecord, decode_line, encode_carried
from accounts.outbox.writing import RowWriter, set_aside, write_or_set_aside

log = logging.getLogger(__name__)


class Drain:
    """Reads this process's journal, from one thread at a time."""

    def __init__(self, journal: Journal, write: RowWriter, aside: Path, batch_lines: int) -> None:
        self.unsettled: dict[str, UsageRecord] = {}  # intents read, whose result has not been read
        self._journal = journal
        self._write = write
        self._aside = aside
        self._batch_lines = batch_lines
        self._segment = 1
        self._offset = 0

    def step(self) -> bool:
        """Move one batch.

        True while there is more that was there when this began: what is being said meanwhile waits for the next round,
        or a busy process would write its rows one by one. Raises DatabaseAway or OSError, having moved nothing on.
        """
        newest = self._journal.segment  # read first: what is older than this is finished
        path = segment_path(self._journal.path, self._segment)
        lines, offset = read_lines(path, self._offset, self._batch_lines)
        if lines:
            self._move(decode_lines(lines, self._aside))
            self._offset = offset
            return len(lines) == self._batch_lines or self._segment < newest
        if self._segment < newest:
            self._leave_segment()
            return True
        return False

    def at_end(self) -> bool:
        """All that was ever said has been moved, and no intent is without its result."""
        journal = self._journal
        size = segment_path(journal.path, journal.segment).stat().st_size
        return not self.unsettled and (self._segment, self._offset) == (journal.segment, size)

    def _move(self, lines: Sequence[Line]) -> None:
        write_or_set_aside(results_in(lines), self._write, self._aside)
        for line in lines:
            if line.intent is not None:
                self.unsettled[line.intent.request_id] = line.intent
            elif line.result is not None:
                self.unsettled.pop(line.result.request_id, None)

    def _leave_segment(self) -> None:
        """Say the unsettled intents again in the newest segment, so that a long request keeps no old file."""
        for record in self.unsettled.values():
            self._journal.append(encode_carried(record))
        self._journal.remove_segment(self._segment)
        self._segment, self._offset = self._segment + 1, 0


def decode_lines(lines: Iterable[bytes], aside: Path) -> list[Line]:
    """What can be read; what cannot goes to the file `aside`, as it is."""
    decoded = [(raw, decode_line(raw)) for raw in lines if raw.strip()]
    unreadable = [raw for raw, line in decoded if line is None]
    if unreadable:
        log.error("%d unreadable lines of the usage journal are kept in %s", len(unreadable), aside.name)
        set_aside(unreadable, aside)
    return [line for _, line in decoded if line is not None]


def results_in(lines: Iterable[Line]) -> list[UsageRecord]:
    return [line.result for line in lines if line.result is not None]
