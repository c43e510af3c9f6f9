"""The epoch kept in the database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from scheduling.backends.valkey import rows
from scheduling.backends.valkey.epoch import Epoch, EpochUnknown
from scheduling.backends.valkey.rows import DatabaseKeeper, join_store, leave_store, read_epoch, write_epoch
from scheduling.models import StoreProcess


@pytest.mark.django_db
def test_before_the_first_start_there_is_none() -> None:
    assert read_epoch() is None


@pytest.mark.django_db
def test_whoever_joined_and_has_not_left_was_there() -> None:
    write_epoch("e1")
    for box in ("a", "b", "a"):
        join_store(box)
    leave_store("b")
    assert read_epoch() == Epoch("e1", frozenset({"a"}))


@pytest.mark.django_db
def test_another_epoch_forgets_who_was_there_and_the_same_does_not() -> None:
    write_epoch("e1")
    join_store("a")
    write_epoch("e1")
    assert read_epoch() == Epoch("e1", frozenset({"a"}))
    write_epoch("e2")
    assert read_epoch() == Epoch("e2", frozenset())


@pytest.mark.django_db
def test_a_process_unseen_for_a_day_is_waited_for_no_longer() -> None:
    write_epoch("e1")
    join_store("old")
    StoreProcess.objects.update(seen_at=timezone.now() - timedelta(hours=25))
    assert read_epoch() == Epoch("e1", frozenset())
    join_store("new")
    assert list(StoreProcess.objects.values_list("box", flat=True)) == ["new"]


@pytest.mark.django_db(transaction=True)
async def test_it_is_read_and_written_off_the_loop() -> None:
    keeper = DatabaseKeeper()
    assert await keeper.read() is None
    await keeper.write("e1")
    await keeper.join("a")
    assert await keeper.read() == Epoch("e1", frozenset({"a"}))
    await keeper.leave("a")
    assert await keeper.read() == Epoch("e1", frozenset())


async def test_a_database_that_is_away_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError("no such host")

    monkeypatch.setattr(rows, "read_epoch", fail)
    with pytest.raises(EpochUnknown, match="no such host"):
        await DatabaseKeeper().read()
