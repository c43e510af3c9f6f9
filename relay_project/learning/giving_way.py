"""A guess never refuses a request for good: what others seem to use of an account gives way to it."""

from __future__ import annotations

from relay_project.learning.limits import Limits
from scheduling.coordinator import Coordinator, Lease
from scheduling.core.outcomes import Code
from scheduling.core.tickets import Ask
from scheduling.errors import Rejection
from scheduling.watching import Watch


async def acquire(coordinator: Coordinator, limits: Limits, ask: Ask, watch: Watch | None) -> Lease:
    """`Coordinator.acquire`; what is too large only because of use by others is let in all the same."""
    try:
        return await coordinator.acquire(ask, watch)
    except Rejection as rejection:
        if rejection.code != Code.REQUEST_EXCEEDS_LIMIT or not limits.give_way(ask.provider):
            raise
    return await coordinator.acquire(ask, watch)
