"""A limit that nobody told: the start rate, fitted to what the provider refuses.

AIMD in the shape of TCP CUBIC (RFC 9438). A refusal says "this rate is too high": the rate goes down by a tenth and
that ceiling is remembered. From there it climbs fast, then ever slower towards the ceiling, stands there a while, and
only then feels its way up, ever faster, until something is refused again or the configured limit is reached:

    rate(x) = ceiling × (1 + (x − 1)³ / 10)      x = progress since the cut; 1 = back at the ceiling

Progress is counted in starts, not in time, because the target is a share: one unit is two starts per refusal allowed
(400 at a target of 0.5 %), so that one refusal for each probe at the ceiling is half the target. A unit lasts five
minutes at most, or a slow account would need hours. What is not used proves nothing, so idle time is no progress.

Bound: a limit that stands still is refused about `target / 2` of its starts, with 97 % of it used; a limit that doubles
is used to 90 % after 3.0 units (at 10/s: 100 s); one that halves costs 7 cuts, each at the price of one refusal plus
what was on its way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from scheduling.core.moment import SECOND_US
from scheduling.core.spec import LaneRules, Measure, WindowKind, WindowMode, WindowSpec

LOWEST_PER_S: Final = 0.1
TARGET_SHARE: Final = 0.005
CUT: Final = 0.1
LONGEST_UNIT_S: Final = 300
WINDOW_S: Final = 10
"""Length of the window the rate is enforced as: long enough for 0.1/s to be a whole number, short enough to follow."""


class AdaptiveRate:
    """The rate of one limit. Tell it every outcome that says something about the provider's rate."""

    def __init__(self, configured_per_s: float, *, target_share: float = TARGET_SHARE) -> None:
        self.configured_per_s = max(configured_per_s, LOWEST_PER_S)
        self.rate_per_s = self._ceiling_per_s = self.configured_per_s
        self._starts_per_unit = 2 / target_share
        self._progress = 1.0
        self._cut_us = -1

    def served(self) -> None:
        """A start was let in."""
        share_of_unit = max(1 / self._starts_per_unit, 1 / (self.rate_per_s * LONGEST_UNIT_S))
        self._progress += share_of_unit
        self._set(self._ceiling_per_s * (1 + CUT * (self._progress - 1) ** 3))

    def refused(self, started_us: int, now_us: int) -> None:
        """A start made at `started_us` was refused for its rate. Those made before the last cut say nothing new."""
        if started_us <= self._cut_us:
            return
        self._cut_us = now_us
        self._ceiling_per_s, self._progress = self.rate_per_s, 0.0
        self._set(self.rate_per_s * (1 - CUT))

    def resume(self, rate_per_s: float) -> None:
        """Go on from a rate that was found elsewhere (another process, before a restart): stand there, then feel up."""
        self._set(rate_per_s)
        self._ceiling_per_s, self._progress = self.rate_per_s, 1.0

    def _set(self, rate_per_s: float) -> None:
        self.rate_per_s = min(max(rate_per_s, LOWEST_PER_S), self.configured_per_s)


def configured_per_s(rules: LaneRules) -> float | None:
    """Starts a second that the rules' tightest window of requests allows; None = they set no limit to adapt below."""
    rates = [
        spec.limit * SECOND_US / spec.window_us
        for spec in rules.windows
        if spec.measure is Measure.REQUESTS
        and spec.mode is WindowMode.ENFORCED
        and spec.kind is not WindowKind.CALENDAR
    ]
    return min(rates, default=None)


def with_rate(rules: LaneRules, rate_per_s: float) -> LaneRules:
    """The rules with one more window that holds starts to that rate (rounded down to 0.1/s)."""
    limit = max(1, int(rate_per_s * WINDOW_S))
    window = WindowSpec(Measure.REQUESTS, limit, window_us=WINDOW_S * SECOND_US)
    # A window of the same kind and length would be the same axis: the rate is never above it, so it stands for both.
    others = tuple(spec for spec in rules.windows if not _is_same_axis(spec, window))
    return replace(rules, windows=(*others, window))


def _is_same_axis(spec: WindowSpec, window: WindowSpec) -> bool:
    return replace(spec, limit=window.limit, kind=window.kind, slice_us=0) == window
