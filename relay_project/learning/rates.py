"""The adaptive start rates of this process (`adaptive` in the lane profile), one per limit group.

What is refused for its rate, and what is let in, moves the rate; the rate, where it is below what is configured, is a
finding like any other. A rate found by another process is taken over from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from providers.contract import Refusal, RefusalKind
from relay_project.learning.limits import Limits
from relay_project.quota.states import Place
from scheduling.clock import Clock
from scheduling.core.adaptive import WINDOW_S, AdaptiveRate, configured_per_s
from scheduling.core.learned import FORGOTTEN_AFTER_US, Finding, LimitKey, Source
from scheduling.core.moment import SECOND_US
from scheduling.core.spec import Measure

Group = tuple[str, str]  # provider, limit group
_WINDOW_US: Final = WINDOW_S * SECOND_US


@dataclass(slots=True)
class _Rate:
    rate: AdaptiveRate
    told: int  # starts per window, as last put down


class Rates:
    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._rates: dict[Group, _Rate] = {}
        limits.on_adopted(self._adopt)

    def served(self, place: Place) -> None:
        known = self._rate_of(place)
        if known is not None:
            known.rate.served()
            self._put_down(place, known)

    def refused(self, place: Place, refusal: Refusal, started_us: int) -> None:
        """`started_us`: when the refused call was let go, monotonic."""
        known = self._rate_of(place) if refusal.kind is RefusalKind.RATE_LIMITED else None
        if known is not None:
            known.rate.refused(started_us, self._clock.now_us())
            self._put_down(place, known)

    def _rate_of(self, place: Place) -> _Rate | None:
        """None: nothing configured to stay below."""
        model = self._limits.configured(place.provider, place.model)
        configured = None if model is None else configured_per_s(model.rules)
        if configured is None:
            return None
        group = (place.provider, place.limit_group)
        known = self._rates.get(group)
        if known is None or self._is_stale(group, known, configured):
            known = self._rates[group] = self._started(group, configured)
        return known

    def _is_stale(self, group: Group, known: _Rate, configured: float) -> bool:
        """The admin has configured another limit, or the finding has been forgotten."""
        if known.rate.configured_per_s != AdaptiveRate(configured).configured_per_s:
            return True
        return known.told < _per_window(configured) and _key(*group) not in self._limits.findings

    def _started(self, group: Group, configured: float) -> _Rate:
        """Where it stood when it was last put down, else at the configured limit."""
        rate = AdaptiveRate(configured)
        finding = self._limits.findings.get(_key(*group))
        if finding is not None:
            rate.resume(finding.figure / WINDOW_S)
        return _Rate(rate, _per_window(rate.rate_per_s))

    def _put_down(self, place: Place, known: _Rate) -> None:
        starts = _per_window(known.rate.rate_per_s)
        if starts == known.told:
            return
        known.told = starts
        configured = _per_window(known.rate.configured_per_s)
        key, wall_us = _key(place.provider, place.limit_group), self._clock.wall_us()
        until_us = wall_us + FORGOTTEN_AFTER_US
        finding = Finding(starts, configured, wall_us, wall_us, until_us, "start rate that is not refused")
        self._limits.put(key, finding if starts < configured else None)

    def _adopt(self, key: LimitKey, finding: Finding) -> None:
        known = self._rates.get((key.provider, key.group))
        if key.source is Source.ADAPTIVE and known is not None and known.told != finding.figure:
            known.rate.resume(finding.figure / WINDOW_S)
            known.told = _per_window(known.rate.rate_per_s)


def _key(provider: str, group: str) -> LimitKey:
    return LimitKey(provider, Source.ADAPTIVE, Measure.REQUESTS.value, _WINDOW_US, group)


def _per_window(rate_per_s: float) -> int:
    return max(1, int(rate_per_s * WINDOW_S))
