"""Days as a wall calendar cuts them (23 and 25 hours at a change of summer time), for windows on a monotonic
clock.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.windows import Boundaries


def days_in(zone: str, started_epoch_s: int) -> Boundaries:
    """Midnight to midnight in `zone`; `now_us` counts from a start at `started_epoch_s`."""
    info = ZoneInfo(zone)

    def period(now_us: int) -> tuple[int, int]:
        local = datetime.fromtimestamp(started_epoch_s + now_us // SECOND_US, UTC).astimezone(info)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return tuple(
            (round(day.timestamp()) - started_epoch_s) * SECOND_US  # type: ignore[return-value]
            for day in (midnight, midnight + timedelta(days=1))
        )

    return period
