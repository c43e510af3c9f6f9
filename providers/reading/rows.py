"""The form of a vendor's table of refusals: data that the general reader walks.

A table is read from the top and the first row whose conditions all hold decides; then its parent's rows
follow, then the HTTP status. Within a table rows with structured codes come first, then those that need a
status, and words alone last (a test holds the order), because one sentence means different things at
different vendors.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from providers.contract import RefusalKind, RefusalScope


@dataclass(frozen=True, slots=True)
class Row:
    """If the answer has one of `codes`, one of `statuses` and matches `words` (each only if given), it is
    `kind`.

    `scope` None: read from the window that the answer names. A RATE_LIMITED row then becomes EXHAUSTED for
    windows of an hour and longer. `codes` are lower-case; `words` is a regular expression, searched in the
    error text.
    """

    kind: RefusalKind
    scope: RefusalScope | None = None
    codes: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    words: str = ""

    def holds(self, codes: frozenset[str], status: int | None, text: str) -> bool:
        return (
            (not self.codes or not codes.isdisjoint(self.codes))
            and (not self.statuses or status in self.statuses)
            and (not self.words or re.search(self.words, text, re.IGNORECASE) is not None)
        )

    def because(self, codes: frozenset[str], status: int | None) -> str:
        """The evidence in a few words, for the admin."""
        parts = [f"code {code}" for code in self.codes if code in codes][:1]
        parts += [f"status {status}"] if self.statuses else []
        parts += ["wording"] if self.words else []
        return ", ".join(parts)


class Hint(enum.StrEnum):
    """Where a wait was found, in the order in which it is trusted."""

    WINDOW = "reset of the refused window"
    BODY = "time in the error's members"
    RETRY_AFTER_MS = "retry-after-ms"
    RETRY_AFTER = "retry-after"
    TEXT = "time in the error's words"
    FORMULA = "used, requested and limit"
    QUOTA_HEADER = "reset header of the used-up axis"
    CALENDAR = "the provider's calendar"


@dataclass(frozen=True, slots=True)
class Table:
    """How one vendor says no. `parent` is the dialect it speaks, asked when no row of its own decides."""

    name: str
    rows: tuple[Row, ...] = ()
    parent: Table | None = None
    is_agent: bool = False  # a command-line agent: statuses are written in its words
    code_headers: tuple[str, ...] = ()  # headers whose value is a structured code
    exit_statuses: Mapping[int, int] = field(default_factory=dict)  # exit code → the HTTP status it stands for
    brief_scope: RefusalScope = RefusalScope.MINUTE  # of a brief limit that names no window
    long_scope: RefusalScope = RefusalScope.UNKNOWN  # of a used-up limit that names no window
    header_windows: Mapping[str, RefusalScope] = field(default_factory=dict)  # measure → window of its headers
    longest_of: frozenset[Hint] = frozenset()  # among these the longest rules, not the first
    day_hint_floor_s: float = 0.0  # shorter hints on a limit of a day or more are known to be false
    day_zone: str = ""  # daily limits reset at midnight on this zone's wall
    text_zone: str = ""  # times written without a zone are meant here
    refills: bool = False  # leaky bucket: wait = (used + requested - limit) / limit * window

    def own_and_inherited_rows(self) -> Iterator[Row]:
        yield from self.rows
        if self.parent is not None:
            yield from self.parent.own_and_inherited_rows()
