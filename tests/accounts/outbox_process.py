"""A process that books requests as fast as it can until it is killed; run by `test_outbox_processes.py`.

    outbox_process.py FOLDER DATABASE MODE     MODE: work | adopt

It says on its standard output what it has said to the outbox, after the call has returned: `I id`, `S id`.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from accounts.outbox import Outbox, OutboxLimits, UsageRecord

LIMITS = OutboxLimits(every_s=0.002, segment_bytes=20_000, batch_lines=7)


class SqliteWriter:
    """Rows without Django, so that a process starts fast."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with sqlite3.connect(path, timeout=20) as database:
            database.execute("PRAGMA journal_mode=WAL")  # a stopped writer must not keep the test from reading
            database.execute("CREATE TABLE IF NOT EXISTS rows (request_id TEXT PRIMARY KEY, outcome TEXT)")

    def __call__(self, records: Sequence[UsageRecord]) -> None:
        values = [(record.request_id, record.outcome) for record in records]
        database = sqlite3.connect(self._path, timeout=20)
        try:
            with database:
                database.executemany("INSERT INTO rows VALUES (?, ?) ON CONFLICT (request_id) DO NOTHING", values)
        finally:
            database.close()

    def outcomes(self) -> dict[str, str]:
        database = sqlite3.connect(self._path)
        try:
            return dict(database.execute("SELECT request_id, outcome FROM rows"))
        finally:
            database.close()


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


async def work(outbox: Outbox) -> None:
    """Five requests at a time, and one that never ends."""
    await outbox.start()
    prefix = f"{os.getpid()}-"
    intend(outbox, f"{prefix}long")
    for number in range(1_000_000):
        intend(outbox, f"{prefix}{number}")
        if number >= 5:
            settle(outbox, f"{prefix}{number - 5}")


def intend(outbox: Outbox, request_id: str) -> None:
    outbox.intend(UsageRecord(request_id=request_id, created_at_us=1))
    say(f"I {request_id}")


def settle(outbox: Outbox, request_id: str) -> None:
    outbox.settle(UsageRecord(request_id=request_id, created_at_us=1, outcome="completed"))
    say(f"S {request_id}")


def main(folder: str, database: str, mode: str) -> None:
    outbox = Outbox(Path(folder), SqliteWriter(Path(database)), lambda: 1_790_000_000_000_000, LIMITS)
    say("ready")
    if mode == "adopt":
        outbox.adopt_orphans()
    else:
        asyncio.run(work(outbox))


if __name__ == "__main__":
    main(*sys.argv[1:])
