"""We said no. One tree; each carries a stable `code` and times, never an HTTP status.

Rejection                 any no of ours
├── AtTheDoor             before a ticket: gateway_overloaded, provider_queue_full, request_exceeds_limit,
│                         token_limit_reached, budget_exhausted, insufficient_quota (closed), provider_paused
├── GaveUpWaiting         provider_queue_timeout: waited to the limit, or certainly would
├── Evicted               queue_evicted: gave the place in line to another; ticket_cancelled: taken out by an admin,
│                         or its token was revoked
├── LaneProfileMissing    lane_profile_missing: loud, an admin must act
└── StoreAway             coordinator_unavailable, relay_draining
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduling.core.outcomes import Code, Told

__all__ = [
    "EXCEPTION_OF",
    "AtTheDoor",
    "Evicted",
    "GaveUpWaiting",
    "LaneProfileMissing",
    "Rejection",
    "StoreAway",
    "Told",
]

_STAGE_OF: Final[Mapping[str, str]] = {
    Code.REQUEST_EXCEEDS_LIMIT: "quota",
    Code.TOKEN_LIMIT_REACHED: "quota",
    Code.BUDGET_EXHAUSTED: "quota",
    Code.INSUFFICIENT_QUOTA: "quota",
    Code.PROVIDER_PAUSED: "configuration",
}


class Rejection(Exception):
    """We said no."""

    code: str = "relay_rejected"
    stage = "capacity"

    def __init__(
        self, told: Told | None = None, *, code: str | None = None, provider: str = "", model: str = ""
    ) -> None:
        self.told = told or Told()
        if code is not None:
            self.code = str(code)
            self.stage = _STAGE_OF.get(code, self.stage)
        self.provider = provider
        self.model = model
        super().__init__(self.code)


class AtTheDoor(Rejection):
    code = "gateway_overloaded"


class GaveUpWaiting(Rejection):
    code = "provider_queue_timeout"


class Evicted(Rejection):
    code = "queue_evicted"


class LaneProfileMissing(Rejection):
    code = "lane_profile_missing"
    stage = "configuration"


class StoreAway(Rejection):
    code = "coordinator_unavailable"
    stage = "relay"


EXCEPTION_OF: Final[Mapping[Code, type[Rejection]]] = {
    Code.GATEWAY_OVERLOADED: AtTheDoor,
    Code.PROVIDER_QUEUE_FULL: AtTheDoor,
    Code.REQUEST_EXCEEDS_LIMIT: AtTheDoor,
    Code.TOKEN_LIMIT_REACHED: AtTheDoor,
    Code.BUDGET_EXHAUSTED: AtTheDoor,
    Code.INSUFFICIENT_QUOTA: AtTheDoor,
    Code.PROVIDER_PAUSED: AtTheDoor,
    Code.PROVIDER_QUEUE_TIMEOUT: GaveUpWaiting,
    Code.QUEUE_EVICTED: Evicted,
    Code.TICKET_CANCELLED: Evicted,
    Code.LANE_PROFILE_MISSING: LaneProfileMissing,
}
"""Which exception a code is raised as; total over `Code`."""
