"""The relay's own question whether something used up is back: it starts at once or not at all.

It needs room on lanes and windows like everybody; only closings do not hold it up, for they are what it asks about. It
is no trial: the others stay where they are until its answer reopens the target. Of several credentials it takes the one
that is closed for longest.
"""

from __future__ import annotations

from typing import Final

from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Left, Told
from scheduling.core.policy import Choice, closed_until, hindrance
from scheduling.core.state import CredentialRoad, State, Ticket
from scheduling.core.times import AT_LEAST_US

PROBE: Final = "probe"


def pick_probe(state: State, ticket: Ticket, now: Moment) -> Choice | None:
    """What a probe starts on; None if there is no room for it now."""
    model, provider, klass = ticket.model, ticket.model.provider, ticket.ask.klass
    lanes = (state.lane, provider.lane, model.lane)
    if provider.spec.paused or model.spec.paused or not all(lane.has_room(klass) for lane in lanes):
        return None
    if hindrance(model.windows, ticket, now) is not None:
        return None
    if model.roads is None:
        return Choice(ticket, None, model.windows, model.estimates)
    free = [road for road in model.roads if _is_free(road, ticket, now)]
    if not free:
        return None
    road = max(free, key=lambda road: closed_until(road.credential.closing))
    return Choice(ticket, road.credential, model.windows + road.windows, model.estimates + road.estimates)


def no_room(ticket: Ticket) -> Left:
    return Left(ticket.ask.ticket_id, Code.PROVIDER_QUEUE_FULL, Told(retry_after_us=AT_LEAST_US, estimate=True))


def _is_free(road: CredentialRoad, ticket: Ticket, now: Moment) -> bool:
    credential = road.credential
    if credential.spec.paused or not credential.lane.has_room(ticket.ask.klass):
        return False
    return hindrance(road.windows, ticket, now) is None
