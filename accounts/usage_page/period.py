"""Which stretch of time is shown: whole hours or days up to now, and the equally long stretch before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.utils.functional import Promise
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Period:
    """One choice. `slots` bars of an hour or a day each; the last one is still running."""

    key: str
    name: Promise
    before: Promise
    unit: str  # hour | day
    slots: int
    label_every: int  # under every how-manieth bar its time stands
    label_format: Promise  # a Django date format

    def starts(self, now: datetime) -> list[datetime]:
        """When each slot begins, in the current time zone."""
        local = localtime(now)
        back = range(self.slots - 1, -1, -1)
        if self.unit == "hour":
            this_hour = local.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
            return [localtime(this_hour - timedelta(hours=n)) for n in back]
        return [datetime.combine(local.date() - timedelta(days=n), time(), local.tzinfo) for n in back]


PERIODS = (
    Period("24h", _("24 hours"), _("the 24 hours before"), "hour", 24, 4, _("H:i")),
    Period("7d", _("7 days"), _("the 7 days before"), "day", 7, 1, _("D")),
    Period("30d", _("30 days"), _("the 30 days before"), "day", 30, 7, _("M j")),
)


def pick_period(key: str | None) -> Period:
    return next((period for period in PERIODS if period.key == key), PERIODS[0])
