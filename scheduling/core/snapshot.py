"""State that describes itself: one picture of lanes and lines, read by the admin, the WebSocket, `/api/queue` and the
tests alike. Built on demand, never inside a start or a release. Times are milliseconds, because this goes on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowView:
    measure: str
    scope: str
    used: int
    limit: int
    window_s: float
    mode: str  # enforced | estimate


@dataclass(frozen=True, slots=True)
class TicketView:
    """Somebody waiting."""

    id: str
    provider: str
    model: str
    klass: str  # interactive | normal | batch
    flow: str
    owner: str  # personal token or session that may see this ticket in full
    purpose: str  # call | check | test | chat | probe
    place: int  # 1 = next of this model's lines to start, in the order in which they would go
    waited_ms: int
    estimated_start_ms: int | None  # from now; None = cannot be told
    reason: str  # relay | provider | model | credential | pace | tokens | flow | closed | paused | recovering


@dataclass(frozen=True, slots=True)
class LeaseView:
    """Somebody running."""

    id: str
    provider: str
    model: str
    klass: str
    flow: str
    owner: str
    purpose: str
    running_ms: int


@dataclass(frozen=True, slots=True)
class ModelView:
    key: str
    running: int
    limit: int | None  # None = only the provider's lanes bound it
    waiting: int
    paused: bool
    next_start_ms: int | None  # earliest by pacer and ledgers; 0 = now
    closed_until_ms: int | None  # from now
    closed_reason: str
    windows: tuple[WindowView, ...]


@dataclass(frozen=True, slots=True)
class ProviderView:
    key: str
    profile_missing: bool
    running: int
    limit: int
    waiting: int
    max_waiting: int
    paused: bool
    pause_message: str
    longest_running_ms: int | None
    models: tuple[ModelView, ...]


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    version: int  # grows with every change
    at_wall_ms: int
    running: int
    max_running: int
    inside: int
    max_inside: int
    waiting: int
    waiting_by_class: dict[str, int]
    providers: tuple[ProviderView, ...]
    tickets: tuple[TicketView, ...]
    leases: tuple[LeaseView, ...]
