"""The outbox across killed processes: nothing said is lost, nothing is doubled, the living keep theirs."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from accounts.outbox import Outbox
from tests.accounts.outbox_process import LIMITS, SqliteWriter

pytestmark = pytest.mark.served

ROOT = Path(__file__).resolve().parents[2]


class Told:
    """A process, and what it says into a file: a pipe would hold it up and choose when it dies."""

    def __init__(self, arguments: list[str], words: Path) -> None:
        self.words = words
        with words.open("wb") as file:
            self.process = subprocess.Popen(arguments, cwd=ROOT, stdout=file)

    def lines(self) -> list[str]:
        return self.words.read_text().split("\n")[:-1]

    def wait_for(self, lines: int) -> None:
        while self.process.poll() is None and len(self.lines()) < lines:
            time.sleep(0.001)

    def kill(self) -> list[str]:
        self.process.kill()
        self.process.wait()
        return self.lines()


@dataclass
class Bench:
    """A folder, a database, and the processes that share them."""

    path: Path
    started: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = self.path / "outbox"
        self.rows = SqliteWriter(self.path / "rows.sqlite3")

    def start(self, mode: str = "work") -> Told:
        arguments = [str(self.folder), str(self.path / "rows.sqlite3"), mode]
        command = [sys.executable, "-m", "tests.accounts.outbox_process", *arguments]
        self.started.append(Told(command, self.path / f"words-{len(self.started)}"))
        return self.started[-1]

    def adopt(self) -> int:
        outbox = Outbox(self.folder, self.rows, lambda: 1, LIMITS)
        try:
            return outbox.adopt_orphans()
        finally:
            outbox._journal.close(remove=True)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for told in bench.started:
        told.kill()


def said(lines: list[str], letter: str) -> set[str]:
    return {line[2:] for line in lines if line.startswith(f"{letter} ")}


def check_books(outcomes: dict[str, str], lines: list[str], processes: int) -> None:
    intents, settled = said(lines, "I"), said(lines, "S")
    assert intents <= outcomes.keys()
    assert all(outcomes[request_id] == "completed" for request_id in settled)
    # killed between the write and the word about it: at most one more of each for each process
    assert len(outcomes) - len(intents) <= processes
    lost = {request_id for request_id, outcome in outcomes.items() if outcome == "relay_lost"}
    assert len((intents - settled) - lost) <= processes
    assert lost.isdisjoint(settled)


@pytest.mark.parametrize("seed", range(8))
def test_killed_at_any_moment_every_intent_has_exactly_one_row(bench: Bench, seed: int) -> None:
    moments = random.Random(seed)
    lines: list[str] = []
    for _ in range(2):
        worker = bench.start()
        worker.wait_for(moments.randrange(1, 3_000))
        lines += worker.kill()
    assert bench.adopt() == 2
    check_books(bench.rows.outcomes(), lines, processes=2)
    assert list(bench.folder.iterdir()) == []


def test_one_who_is_killed_while_taking_over_is_taken_over_in_turn(bench: Bench) -> None:
    worker = bench.start()
    worker.wait_for(4_000)
    lines = worker.kill()
    for _ in range(3):
        heir = bench.start("adopt")
        heir.wait_for(1)
        heir.kill()
    bench.adopt()
    check_books(bench.rows.outcomes(), lines, processes=1)
    assert list(bench.folder.iterdir()) == []


def test_the_journal_of_a_living_process_is_never_taken_over(bench: Bench) -> None:
    worker = bench.start()
    worker.wait_for(200)
    worker.process.send_signal(signal.SIGSTOP)
    said_so_far = len(worker.lines())
    assert bench.adopt() == 0
    assert "relay_lost" not in bench.rows.outcomes().values()
    worker.process.send_signal(signal.SIGCONT)
    worker.wait_for(said_so_far + 200)
    lines = worker.kill()
    assert bench.adopt() == 1
    check_books(bench.rows.outcomes(), lines, processes=1)


def test_a_torn_last_line_costs_nothing_that_was_said(bench: Bench) -> None:
    worker = bench.start()
    worker.wait_for(100)
    lines = worker.kill()
    last_segment = sorted(bench.folder.glob("*/*.jsonl"))[-1]
    with last_segment.open("ab") as file:
        file.write(b'{"intent":{"request_id":"never sa')
    bench.adopt()
    check_books(bench.rows.outcomes(), lines, processes=1)
