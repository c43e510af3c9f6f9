"""The outbox within one process: what is said becomes rows, whatever the database does meanwhile."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from timeit import timeit

import pytest
from msgspec.structs import replace

from accounts.outbox import Outbox, OutboxLimits, UsageRecord
from accounts.outbox.journal import JournalClosed
from tests.accounts.outbox_fakes import MINUTE_US, FakeDatabase, Wall, a_record

MakeOutbox = Callable[..., Outbox]


@pytest.fixture
def database() -> FakeDatabase:
    return FakeDatabase()


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def make_outbox(tmp_path: Path, database: FakeDatabase, wall: Wall) -> Iterator[MakeOutbox]:
    made: list[Outbox] = []

    def make(**limits: float) -> Outbox:
        made.append(Outbox(tmp_path / "outbox", database, wall, OutboxLimits(**limits)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for outbox in made:
        outbox._journal.close(remove=False)


def segments(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "outbox").glob("*/*.jsonl"))


def test_a_granted_request_becomes_one_row_with_its_result(make_outbox: MakeOutbox, database: FakeDatabase) -> None:
    outbox = make_outbox()
    outbox.intend(a_record())
    outbox.drain()
    assert database.rows == {}
    outbox.settle(a_record(outcome="completed", completion_tokens=812))
    outbox.drain()
    assert database.rows["r1"].completion_tokens == 812
    assert outbox.snapshot().running == 0


def test_what_is_said_during_a_round_waits_for_the_next(make_outbox: MakeOutbox, database: FakeDatabase) -> None:
    outbox = make_outbox()
    numbers = iter(range(1_000_000))

    def more_is_said() -> None:
        outbox.settle(a_record(request_id=f"r{next(numbers)}", outcome="completed"))

    more_is_said()
    database.meanwhile = more_is_said
    outbox.drain()
    assert list(database.rows) == ["r0"]
    outbox.drain()
    assert list(database.rows) == ["r0", "r1"]


def test_a_request_that_never_got_a_lane_needs_no_intent(make_outbox: MakeOutbox, database: FakeDatabase) -> None:
    outbox = make_outbox()
    outbox.settle(a_record(outcome="queue_timeout"))
    outbox.drain()
    assert database.outcomes() == {"r1": "queue_timeout"}


def test_every_field_survives_the_journal(make_outbox: MakeOutbox, database: FakeDatabase) -> None:
    attempts = [{"provider": "gemini", "model": "flash", "outcome": "refused", "reason": "exhausted", "run_ms": 7}]
    said = a_record(
        user_id=7,
        team_id=3,
        client='안녕 \x00 "quoted"\n',
        outcome="completed",
        charged_tokens=10**25,
        stream=True,
        measured="measured",
        attempts=attempts,
        http_status=200,
    )
    outbox = make_outbox()
    outbox.settle(said)
    outbox.drain()
    assert database.rows["r1"] == said


def test_text_that_is_no_valid_unicode_costs_a_letter_and_not_the_row(
    make_outbox: MakeOutbox, database: FakeDatabase
) -> None:
    outbox = make_outbox()
    outbox.settle(a_record(outcome="completed", model="half \ud83d pair"))
    outbox.drain()
    assert database.rows["r1"].model == "half ? pair"


def test_rows_are_written_in_batches_of_bounded_size(make_outbox: MakeOutbox, database: FakeDatabase) -> None:
    outbox = make_outbox(batch_lines=500)
    for number in range(1_234):
        outbox.settle(a_record(f"r{number}", outcome="completed"))
    outbox.drain()
    assert database.batches == [500, 500, 234]


def test_nothing_is_lost_or_doubled_while_the_database_is_away(
    make_outbox: MakeOutbox, database: FakeDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = make_outbox(batch_lines=10)
    database.away = True
    for number in range(100):
        outbox.settle(a_record(f"r{number}", outcome="completed"))
    assert outbox._round(0.0, adopt=False) == 0.25
    assert outbox._round(4.0, adopt=False) == 5.0  # pauses grow to a limit
    assert outbox.snapshot().database_away
    assert [record.message for record in caplog.records] == [
        "the database is away, usage records wait in the journal: connection refused"
    ]
    database.away = False
    outbox._round(0.0, adopt=False)
    assert len(database.rows) == 100
    assert set(database.writes.values()) == {1}
    assert not outbox.snapshot().database_away


def test_one_record_that_no_database_takes_is_set_aside_and_the_others_are_written(
    make_outbox: MakeOutbox, database: FakeDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database.dislikes = {"r37"}
    outbox = make_outbox()
    for number in range(100):
        outbox.settle(a_record(f"r{number}", outcome="completed"))
    outbox.drain()
    assert len(database.rows) == 99
    aside = json.loads((tmp_path / "outbox" / "unwritable.jsonl").read_text())
    assert aside["result"]["request_id"] == "r37"
    assert "r37 is kept in unwritable.jsonl" in caplog.text


def test_a_bug_in_the_writer_does_not_end_the_rounds(
    make_outbox: MakeOutbox,
    database: FakeDatabase,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    outbox = make_outbox()
    outbox.settle(a_record(outcome="completed"))
    with monkeypatch.context() as broken:
        broken.setattr(outbox._drain, "_write", lambda records: 1 / 0)
        assert outbox._round(0.0, adopt=False) == 5.0
    assert "ZeroDivisionError" in caplog.text
    outbox._round(0.0, adopt=False)
    assert database.outcomes() == {"r1": "completed"}


def test_segments_whose_records_are_rows_are_removed(make_outbox: MakeOutbox, tmp_path: Path) -> None:
    outbox = make_outbox(segment_bytes=500)
    for number in range(200):
        outbox.settle(a_record(f"r{number}", outcome="completed"))
    assert len(segments(tmp_path)) > 20
    outbox.drain()
    assert len(segments(tmp_path)) == 1
    assert outbox.snapshot().held_bytes == segments(tmp_path)[0].stat().st_size < 4_000


def test_a_long_request_keeps_no_old_segment_and_still_gets_its_row(
    make_outbox: MakeOutbox, database: FakeDatabase, tmp_path: Path
) -> None:
    outbox = make_outbox(segment_bytes=2_000)
    outbox.intend(a_record("long"))
    for number in range(200):
        outbox.settle(a_record(f"r{number}", outcome="completed"))
        outbox.drain()
    assert len(segments(tmp_path)) == 1
    assert b'{"carried":{"request_id":"long"' in segments(tmp_path)[0].read_bytes()
    outbox.settle(a_record("long", outcome="completed"))
    outbox.drain()
    assert len(database.rows) == 201
    assert outbox._drain.at_end()


def test_beyond_its_bound_the_journal_drops_loudly_and_a_granted_request_still_gets_its_result(
    make_outbox: MakeOutbox, database: FakeDatabase, wall: Wall, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = make_outbox(max_bytes=50_000)
    database.away = True
    outbox.intend(a_record("granted"))
    for number in range(1_000):
        outbox.settle(a_record(f"r{number}", outcome="completed"))
    wall.us += MINUTE_US
    outbox.intend(a_record("too late"))
    outbox.settle(a_record("granted", outcome="completed"))
    assert outbox.snapshot().held_bytes < 52_000
    assert caplog.text.count("usage records are being lost") == 2  # once a minute
    database.away = False
    outbox.drain()
    dropped = outbox.snapshot().dropped
    assert dropped > 0
    assert len(database.rows) == 1_001 - (dropped - 1)
    assert database.rows["granted"].outcome == "completed"


def test_a_full_disk_stops_the_books_and_not_the_requests(
    make_outbox: MakeOutbox,
    database: FakeDatabase,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    outbox = make_outbox()
    outbox.intend(a_record("before"))
    really_write, whole_write = outbox._journal._write, os.write

    def write_a_part(line: bytes) -> None:
        monkeypatch.setattr("os.write", lambda fd, data: whole_write(fd, data[:20]))
        try:
            really_write(line)
        finally:
            monkeypatch.undo()

    monkeypatch.setattr(outbox._journal, "_write", write_a_part)
    outbox.settle(a_record("cut short", outcome="completed"))
    assert outbox.snapshot().dropped == 1
    assert "cannot be written" in caplog.text
    outbox.settle(a_record("before", outcome="completed"))
    outbox.settle(a_record("after", outcome="completed"))
    outbox.drain()
    assert database.outcomes() == {"before": "completed", "after": "completed"}
    assert (tmp_path / "outbox" / "unwritable.jsonl").read_bytes().startswith(b'{"result":{"request')


def test_the_first_sixty_rejections_of_a_minute_get_rows_and_the_rest_share_one(
    make_outbox: MakeOutbox, database: FakeDatabase, wall: Wall
) -> None:
    outbox = make_outbox()
    for number in range(100):
        outbox.settle(a_record(f"r{number}", outcome="rejected", reason="gateway_overloaded"))
        outbox.drain()  # the shared row grows while its minute lasts
    assert len(database.rows) == 61
    shared = next(row for row in database.rows.values() if row.refused_count > 1)
    assert (shared.refused_count, shared.reason) == (40, "gateway_overloaded")
    assert sum(row.refused_count for row in database.rows.values()) == 100
    assert len(shared.request_id) <= 64
    wall.us += MINUTE_US
    outbox.settle(a_record("next minute", outcome="rejected"))
    outbox.drain()
    assert "next minute" in database.rows


def test_rejections_are_counted_for_each_token_apart_and_other_outcomes_never(
    make_outbox: MakeOutbox, database: FakeDatabase
) -> None:
    outbox = make_outbox(rejected_rows_per_minute=2)
    for number in range(5):
        outbox.settle(a_record(f"a{number}", token_id=1, outcome="rejected"))
        outbox.settle(a_record(f"b{number}", token_id=2, outcome="rejected"))
        outbox.settle(a_record(f"u{number}", token_id=None, user_id=1, outcome="rejected"))
        outbox.settle(a_record(f"t{number}", token_id=1, outcome="queue_timeout"))
    outbox.drain()
    counts = sorted(row.refused_count for row in database.rows.values())
    assert counts == [1] * (3 * 2 + 5) + [3, 3, 3]


async def test_the_thread_moves_records_and_a_clean_close_leaves_nothing_behind(
    make_outbox: MakeOutbox, database: FakeDatabase, tmp_path: Path
) -> None:
    outbox = make_outbox(every_s=0.001)
    await outbox.start()
    for number in range(50):
        outbox.intend(a_record(f"r{number}"))
        outbox.settle(a_record(f"r{number}", outcome="completed"))
    await outbox.close()
    assert len(database.rows) == 50
    assert list((tmp_path / "outbox").iterdir()) == []
    await outbox.close()
    with pytest.raises(JournalClosed):
        outbox.settle(a_record("after the close", outcome="completed"))
    assert not [thread for thread in threading.enumerate() if thread.name == "usage-outbox"]


async def test_a_close_without_database_leaves_the_journal_to_the_next_process(
    make_outbox: MakeOutbox, database: FakeDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = make_outbox(every_s=0.001)
    database.away = True
    await outbox.start()
    outbox.settle(a_record("settled", outcome="completed"))
    outbox.intend(a_record("still running"))
    await outbox.close()
    assert "leaves work in its journal" in caplog.text
    database.away = False
    assert make_outbox().adopt_orphans() == 1
    assert database.outcomes() == {"settled": "completed", "still running": "relay_lost"}


def test_saying_something_costs_the_hot_path_little(make_outbox: MakeOutbox) -> None:
    """The budget is 15 µs a call on the reference machine; the bound here allows for a crowded one."""
    outbox = make_outbox()
    record = a_record(user_id=7, provider="gemini", model="gemini-2.5-flash", role="fast-chat", client="openai/2.0")
    records = iter([replace(record, request_id=f"r{n}") for n in range(6_000)])
    best_s = min(timeit(lambda: outbox.intend(next(records)), number=1_000) / 1_000 for _ in range(5))
    logging.getLogger(__name__).info("intend: %.1f µs", best_s * 1e6)
    assert best_s < 60e-6


def test_a_lost_intent_keeps_who_asked_and_for_what() -> None:
    lost = a_record(user_id=7, role="fast-chat").lost()
    assert isinstance(lost, UsageRecord)
    assert (lost.outcome, lost.stage, lost.user_id, lost.role) == ("relay_lost", "relay", 7, "fast-chat")
