"""Findings go round: what was found here is written down, what others wrote is taken over. Once a second.

The rows are the truth that all processes compose the same configuration from; of two words about one limit the later
one stands, which is what each source means (a later header, a later look at the use, a rate that has moved since). For
the second until it has gone round, a process acts on what it has found itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import ParamSpec, Protocol, TypeVar

import structlog
from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.db import close_old_connections

from relay_project.learning.limits import Limits
from relay_project.learning.rows import Shared, read_findings, write_findings
from scheduling.core.learned import Finding, LimitKey

log = structlog.get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Rows(Protocol):
    """Where findings are shared. Each call is one look or one transaction off the loop."""

    async def read(self, now: datetime) -> Shared: ...

    async def write(self, changes: Mapping[LimitKey, Finding | None], revision: int, now: datetime) -> None: ...


class DatabaseRows:
    def __init__(self) -> None:
        self.read = sync_to_async(_closing(read_findings), thread_sensitive=False)
        self.write = sync_to_async(_closing(write_findings), thread_sensitive=False)


class Exchange:
    def __init__(self, limits: Limits, rows: Rows) -> None:
        self._limits = limits
        self._rows = rows
        self._unwritten: dict[LimitKey, Finding | None] = {}
        self._under_way = False

    async def go_round(self, now: datetime) -> None:
        """Write, then read. A database that is away is tried again the next time; nothing is lost by it."""
        if self._under_way:
            return
        self._under_way = True
        try:
            await self._write(now)
            shared = await self._rows.read(now)
            self._limits.adopt(shared.findings, shared.revision)
        except DatabaseError as error:
            log.warning("learned limits cannot be shared", error=type(error).__name__)
        finally:
            self._under_way = False

    async def _write(self, now: datetime) -> None:
        self._unwritten |= self._limits.unwritten()
        if self._unwritten:
            await self._rows.write(self._unwritten, self._limits.revision, now)
            self._unwritten = {}


def _closing(work: Callable[P, T]) -> Callable[P, T]:
    """No request ends in that thread: nobody else gives its connection back."""

    def working(*given: P.args, **named: P.kwargs) -> T:
        close_old_connections()
        try:
            return work(*given, **named)
        finally:
            close_old_connections()

    return working
