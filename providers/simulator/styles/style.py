"""What a vendor's way of refusing consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.book import CONCURRENCY, Reading
from providers.simulator.limits.settings import Measure, Rules
from providers.simulator.plan import Headers, Reply


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that was not let in: every limit against it (the longest wait first), and the wall clock."""

    against: Sequence[Reading]
    model: str
    epoch_us: int

    @property
    def first(self) -> Reading:
        return self.against[0]

    @property
    def concurrency(self) -> bool:
        return self.first.limit is CONCURRENCY

    @property
    def period(self) -> str:
        return self.first.limit.period

    @property
    def of_tokens(self) -> bool:
        return self.first.limit.measure is not Measure.REQUESTS

    @property
    def wait_us(self) -> int:
        """0 where nobody can know it: a full lane, a request that never fits."""
        return self.first.wait_us or 0

    @property
    def wait_s(self) -> int:
        """Whole seconds, rounded up."""
        return -(-self.wait_us // SECOND_US)


def no_gauge(readings: Sequence[Reading]) -> Headers:
    """The vendor tells nothing about its limits on answers that go well."""
    return ()


@dataclass(frozen=True, slots=True)
class Style:
    """`rules`: how the vendor counts, unless told otherwise. `gauge`: headers of every answer, from the
    readings.
    """

    name: str
    rules: Rules
    refuse: Callable[[Refused], Reply]
    gauge: Callable[[Sequence[Reading]], Headers] = no_gauge


def retry_after(refused: Refused) -> Headers:
    """In whole seconds; nothing where there is no wait to tell."""
    return (("retry-after", str(refused.wait_s)),) if refused.wait_us else ()


def go_duration(duration_us: int) -> str:
    """As Go prints one: 120ms, 8.64s, 1m30.5s, 6m0s, 1h34m52.896s."""
    if duration_us < SECOND_US:
        return f"{decimal(duration_us / 1000)}ms" if duration_us else "0s"
    hours, rest_us = divmod(duration_us, 3600 * SECOND_US)
    minutes, rest_us = divmod(rest_us, 60 * SECOND_US)
    seconds = f"{decimal(rest_us / SECOND_US)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def by_measure(readings: Sequence[Reading], measure: Measure, period: str) -> Reading | None:
    return next((r for r in readings if r.limit.measure is measure and r.limit.period == period), None)


def decimal(number: float) -> str:
    """Without trailing noughts."""
    return f"{number:.6f}".rstrip("0").rstrip(".")
