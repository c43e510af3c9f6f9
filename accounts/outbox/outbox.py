"""The outbox of one process: what requests call, and the thread that moves records into rows."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from accounts.outbox.drain import Drain
from accounts.outbox.journal import Journal
from accounts.outbox.orphans import adopt_orphans
from accounts.outbox.record import UsageRecord, encode_intent, encode_result
from accounts.outbox.tally import MINUTE_US, RejectionTally
from accounts.outbox.writing import DatabaseAway, RowWriter
from accounts.outcomes import Outcome

log = logging.getLogger(__name__)

_serial = itertools.count()  # tells the outboxes of one process apart


@dataclass(frozen=True, slots=True)
class OutboxLimits:
    batch_lines: int = 500  # at most so many rows in one write
    every_s: float = 0.25  # pause between two rounds
    away_s: float = 5.0  # longest pause while the database is away
    adopt_every_rounds: int = 20
    segment_bytes: int = 8 * 1024 * 1024
    max_bytes: int = 1024 * 1024 * 1024  # of journal; beyond it new requests are not booked
    rejected_rows_per_minute: int = 60  # per personal token
    close_s: float = 10.0  # what `close` waits for the last round


@dataclass(frozen=True, slots=True)
class OutboxState:
    """What the outbox says about itself."""

    held_bytes: int
    running: int  # intents without a result
    dropped: int  # records that the journal would not take since start
    database_away: bool


class Outbox:
    """Books requests.

    `intend` and `settle` cost one `write` to a local file and never raise for want of room.
    """

    def __init__(
        self, folder: Path, writer: RowWriter, wall_us: Callable[[], int], limits: OutboxLimits | None = None
    ) -> None:
        """Raises OSError where the folder (on a local disk) cannot be written."""
        self._limits = limits or OutboxLimits()
        name = f"{wall_us():x}-{os.getpid()}-{next(_serial)}"
        self._folder, self._writer, self._wall_us = folder, writer, wall_us
        self._journal = Journal(folder, name, self._limits.segment_bytes)
        self._aside = folder / "unwritable.jsonl"
        self._drain = Drain(self._journal, writer, self._aside, self._limits.batch_lines)
        self._tally = RejectionTally(name, self._limits.rejected_rows_per_minute, wall_us)
        self._running: set[str] = set()
        self._dropped, self._told_dropped_minute = 0, -1
        self._database_away = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def intend(self, record: UsageRecord) -> None:
        """Say that a request has been granted a lane and is about to be sent."""
        if self._has_room() and self._say(encode_intent(record)):
            self._running.add(record.request_id)
        else:
            self._drop()

    def settle(self, record: UsageRecord) -> None:
        """Say how a request ended. One that was never granted a lane has only this."""
        granted = record.request_id in self._running
        self._running.discard(record.request_id)
        if not granted and record.outcome == Outcome.REJECTED:
            record = self._tally.fold(record)
        has_place = granted or self._has_room()  # beside its intent, a result always has its place
        if not has_place or not self._say(encode_result(record)):
            self._drop()

    async def start(self) -> None:
        """Start moving records into rows, those of dead processes first."""
        self._thread = threading.Thread(target=self._run, name="usage-outbox", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Move what can be moved within `close_s`; the rest stays in the journal for the next process."""
        if self._journal.closed:
            return
        self._stop.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, self._limits.close_s)
        done = self._is_done()
        if not done:
            log.warning("the usage outbox leaves work in its journal for the next process")
        self._journal.close(remove=done)

    def drain(self) -> None:
        """Move all that is journaled into rows.

        Raises DatabaseAway. For the outbox's own thread, and tests.
        """
        while self._drain.step():
            pass

    def adopt_orphans(self) -> int:
        """Book what dead processes have left; how many of them. Raises DatabaseAway."""
        return adopt_orphans(self._folder, self._writer, self._aside, self._limits.batch_lines)

    def snapshot(self) -> OutboxState:
        return OutboxState(self._journal.held_bytes, len(self._running), self._dropped, self._database_away)

    def _has_room(self) -> bool:
        return self._journal.held_bytes < self._limits.max_bytes

    def _say(self, line: bytes) -> bool:
        try:
            self._journal.append(line)
        except OSError as error:  # a full disk stops the books, not the requests
            log.error("the usage journal cannot be written: %s", error)
            return False
        return True

    def _drop(self) -> None:
        self._dropped += 1
        minute = self._wall_us() // MINUTE_US
        if minute != self._told_dropped_minute:
            self._told_dropped_minute = minute
            log.error("usage records are being lost, the journal takes no more: %d so far", self._dropped)

    def _run(self) -> None:
        pause_s = 0.0
        for number in itertools.count():
            if self._stop.wait(pause_s):
                break
            pause_s = self._round(pause_s, adopt=number % self._limits.adopt_every_rounds == 0)
        self._round(0.0, adopt=False)

    def _round(self, paused_s: float, *, adopt: bool) -> float:
        """One round; how long to pause after it.

        Whatever happens, the next round tries again: the journal keeps.
        """
        try:
            self.drain()
            if adopt:
                self.adopt_orphans()
        except DatabaseAway as away:
            return self._wait_for_database(paused_s, away)
        except Exception:  # a bug or a broken disk must not end the books for as long as the process lives
            log.exception("the usage outbox could not move records into rows")
            return self._limits.away_s
        if self._database_away:
            log.warning("the database is back; usage rows are up to date")
            self._database_away = False
        return self._limits.every_s

    def _wait_for_database(self, paused_s: float, away: DatabaseAway) -> float:
        if not self._database_away:
            log.error("the database is away, usage records wait in the journal: %s", away)
        self._database_away = True
        return min(self._limits.away_s, max(self._limits.every_s, paused_s * 2))

    def _is_done(self) -> bool:
        """Nothing left to say: no request runs, and the drain has reached the end."""
        still_draining = self._thread is not None and self._thread.is_alive()
        return not still_draining and not self._running and self._drain.at_end()
