"""Whether the store is the one that was there before: an epoch stands in the store, and in something that outlives it.

A store without its epoch has forgotten everything. That must not look like a first start, or all that runs and all
that was charged would be counted as nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Epoch:
    id: str
    boxes: frozenset[str]
    """Mailboxes of the processes that were there, those that died without a word too."""


class EpochUnknown(Exception):
    """What outlives the store does not answer."""


class EpochKeeper(Protocol):
    """Outlives the store: the database. Shared by all processes. Every method may be called again, and raises
    `EpochUnknown`."""

    async def read(self) -> Epoch | None:
        """The last epoch; None before the first start ever."""

    async def write(self, epoch_id: str) -> None:
        """Another epoch begins; the same one again changes nothing."""

    async def join(self, box: str) -> None:
        """That process is there. Said again every hour; who has not for a day is forgotten."""

    async def leave(self, box: str) -> None:
        """That process goes in order."""


class ForgetfulKeeper:
    """For one process on its own, and tests: every start is the first one."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._boxes: set[str] = set()

    async def read(self) -> Epoch | None:
        return None if self._id is None else Epoch(self._id, frozenset(self._boxes))

    async def write(self, epoch_id: str) -> None:
        self._id = epoch_id

    async def join(self, box: str) -> None:
        self._boxes.add(box)

    async def leave(self, box: str) -> None:
        self._boxes.discard(box)
