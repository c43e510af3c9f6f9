"""The epoch kept in the database, for all processes that share it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, Final, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import Error, close_old_connections
from django.db.models.functions import Now

from scheduling.backends.valkey.epoch import Epoch, EpochUnknown
from scheduling.models import StoreEpoch, StoreProcess

FORGOTTEN_AFTER: Final = timedelta(days=1)
P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(work: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Blocking work on the database, off the loop; leaves no connection open behind it."""

    def working(*args: P.args, **kwargs: P.kwargs) -> T:
        close_old_connections()
        try:
            return work(*args, **kwargs)
        except Error as error:
            raise EpochUnknown(str(error)) from error
        finally:
            close_old_connections()

    return sync_to_async(working, thread_sensitive=False)


class DatabaseKeeper:
    """An `EpochKeeper`."""

    async def read(self) -> Epoch | None:
        return await _in_thread(read_epoch)()

    async def write(self, epoch_id: str) -> None:
        await _in_thread(write_epoch)(epoch_id)

    async def join(self, box: str) -> None:
        await _in_thread(join_store)(box)

    async def leave(self, box: str) -> None:
        await _in_thread(leave_store)(box)


def read_epoch() -> Epoch | None:
    row = StoreEpoch.objects.filter(pk=1).first()
    if row is None:
        return None
    fresh = StoreProcess.objects.filter(seen_at__gt=Now() - FORGOTTEN_AFTER)
    return Epoch(row.epoch, frozenset(fresh.values_list("box", flat=True)))


def write_epoch(epoch_id: str) -> None:
    """Whoever was there under another epoch has been waited for: who still is joins again."""
    if not StoreEpoch.objects.filter(pk=1, epoch=epoch_id).exists():
        StoreEpoch.objects.update_or_create(pk=1, defaults={"epoch": epoch_id, "since": Now()})
        StoreProcess.objects.all().delete()


def join_store(box: str) -> None:
    StoreProcess.objects.update_or_create(box=box, defaults={"seen_at": Now()})
    StoreProcess.objects.filter(seen_at__lt=Now() - FORGOTTEN_AFTER).delete()


def leave_store(box: str) -> None:
    StoreProcess.objects.filter(box=box).delete()
