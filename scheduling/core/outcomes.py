"""What the core answers: plain values, the same from every backend.

A verb returns a `Reply`: what happened to whom, and when the next thing is due. A ticket that got no event stands in
line. The set of reasons is closed; it is also the label of logs, metrics and usage rows.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from scheduling.core.spec import LaneRules


class Code(enum.StrEnum):
    """Why a ticket did not run."""

    GATEWAY_OVERLOADED = "gateway_overloaded"
    PROVIDER_QUEUE_FULL = "provider_queue_full"
    PROVIDER_QUEUE_TIMEOUT = "provider_queue_timeout"
    QUEUE_EVICTED = "queue_evicted"
    REQUEST_EXCEEDS_LIMIT = "request_exceeds_limit"
    TOKEN_LIMIT_REACHED = "token_limit_reached"  # noqa: S105 - a code, not a secret
    BUDGET_EXHAUSTED = "budget_exhausted"
    INSUFFICIENT_QUOTA = "insufficient_quota"
    PROVIDER_PAUSED = "provider_paused"
    LANE_PROFILE_MISSING = "lane_profile_missing"
    TICKET_CANCELLED = "ticket_cancelled"


class Reason(enum.StrEnum):
    """What a waiting ticket waits for."""

    RELAY = "relay"
    PROVIDER = "provider"
    MODEL = "model"
    CREDENTIAL = "credential"
    PACE = "pace"
    TOKENS = "tokens"
    FLOW = "flow"
    CLOSED = "closed"
    PAUSED = "paused"
    RECOVERING = "recovering"


PACED = frozenset({Reason.PACE, Reason.TOKENS})
"""Reasons whose end is a matter of arithmetic, not of how long others run."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a rejected caller is told, beside the code."""

    retry_after_us: int | None = None  # None = no known time
    estimate: bool = False  # the time rests on guessed run times
    queue_us: int = 0  # how long it stood in line
    pace_us: int = 0  # of that, waiting for pacer or ledger rather than a lane
    reason: str = ""  # the axis that stood in the way, for logs and the usage row
    closed_until_wall_us: int | None = None
    detail: dict[str, object] | None = None  # code-specific figures, e.g. estimate, limit, largest_cap


@dataclass(frozen=True, slots=True)
class Granted:
    """The ticket runs: it holds a place on every lane it needs and is charged in every window."""

    ticket_id: str
    provider: str
    model: str
    credential_id: str | None
    rules: LaneRules
    granted_us: int
    queue_us: int
    pace_us: int
    arrival: int  # its number; a ticket that re-enters or moves keeps it


@dataclass(frozen=True, slots=True)
class Left:
    """The ticket is gone: refused at the door, timed out, evicted or cancelled."""

    ticket_id: str
    code: Code
    told: Told


@dataclass(frozen=True, slots=True)
class Lost:
    """A lease was reaped: its holder must stop that call at once."""

    ticket_id: str


Event = Granted | Left | Lost


@dataclass(frozen=True, slots=True)
class Reply:
    events: tuple[Event, ...]
    next_due_us: int | None  # monotonic; call `pump` then. None = nothing is due by time
    version: int  # grows with every change
