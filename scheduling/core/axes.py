"""Axes: the things a start needs room on. A `Lane` counts who runs, a `WindowAxis` what was charged, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduling.core.charge import uses
from scheduling.core.moment import MINUTE_US, Moment, ceil_div
from scheduling.core.outcomes import Reason
from scheduling.core.pacer import Pacer
from scheduling.core.spec import (
    Class,
    LaneRules,
    Measure,
    Scope,
    WindowKind,
    WindowMode,
    WindowSpec,
)
from scheduling.core.windows import EXACT_US, CalendarWindow, SlidingWindow, Window


class Lane:
    """So many at once; `batch` holds fewer, so that it never takes the last place."""

    __slots__ = ("_batch_running", "batch_spare", "limit", "running")

    def __init__(self, limit: int | None, batch_spare: int = 1) -> None:
        self.limit = limit  # None = unlimited
        self.batch_spare = batch_spare
        self.running = 0
        self._batch_running = 0

    def has_room(self, klass: Class) -> bool:
        if self.limit is None:
            return True
        if self.running >= self.limit:
            return False
        return klass is not Class.BATCH or self._batch_running < max(1, self.limit - self.batch_spare)

    def take(self, klass: Class) -> None:
        self.running += 1
        self._batch_running += klass is Class.BATCH

    def give_back(self, klass: Class) -> None:
        self.running -= 1
        self._batch_running -= klass is Class.BATCH


AxisKey = tuple[str, str, str, str, int, str, str]


@dataclass(frozen=True, slots=True)
class AxisPlan:
    """A window as a profile's rules ask for it, ready to be built or to retune one that exists."""

    spec: WindowSpec
    limit: int
    length_us: int  # guard included; 0 for a calendar
    interval_us: int = 0  # of the pacer; 0 = not paced
    burst: int = 1

    def key(self, group: str) -> AxisKey:
        """Axes with the same key are one axis, whoever names them. Lengths without guard: a guard may change."""
        spec = self.spec
        length_us = spec.window_us if self.interval_us or not spec.slice_us else spec.slice_us
        length_us = 0 if spec.kind is WindowKind.CALENDAR else length_us
        return (spec.scope, group, spec.measure, spec.mode, length_us, spec.period, spec.zone)


def plan_axes(rules: LaneRules) -> Iterator[AxisPlan]:
    """What the rules' windows mean. Measures that the charge rule does not charge are left out.

    Windows of at most ten minutes are paced (spreading a day's allowance evenly over the day would help nobody). A
    slice is one more ledger of its share of the limit: how the provider judges shorter spans. Slices are of requests.
    """
    for spec in rules.windows:
        if not uses(rules.charge_rule, spec.measure):
            continue
        if spec.kind is WindowKind.CALENDAR:
            yield AxisPlan(spec, spec.limit, 0)
            continue
        length_us = spec.window_us + rules.guard_us
        if spec.measure is not Measure.REQUESTS or spec.mode is WindowMode.ESTIMATE or spec.window_us > EXACT_US:
            yield AxisPlan(spec, spec.limit, length_us)
            continue
        interval_us = ceil_div(length_us, max(1, spec.limit))
        yield AxisPlan(spec, spec.limit, length_us, interval_us, _burst(spec, rules.burst))
        if spec.slice_us:
            yield AxisPlan(spec, slice_limit(spec), spec.slice_us + rules.guard_us)


def slice_limit(spec: WindowSpec) -> int:
    return max(1, spec.limit * spec.slice_us // spec.window_us)


def _burst(spec: WindowSpec, wanted: int) -> int:
    """At most ten seconds' worth (a sixth of a minute's limit), and never more than the slice allows."""
    allowed = min(spec.limit, spec.limit * (MINUTE_US // 6) // spec.window_us)
    if spec.slice_us:
        allowed = min(allowed, slice_limit(spec))
    return max(1, min(wanted, allowed))


class WindowAxis:
    """A ledger and, for requests, the pacer before it; both always apply."""

    __slots__ = ("key", "length_us", "limit", "measure", "mode", "pacer", "reason", "scope", "window")

    def __init__(self, key: AxisKey, plan: AxisPlan) -> None:
        self.key = key
        self.scope: Scope = plan.spec.scope
        self.measure: Measure = plan.spec.measure
        self.mode: WindowMode = plan.spec.mode
        self.reason = Reason.PACE if self.measure is Measure.REQUESTS else Reason.TOKENS
        self.limit = plan.limit
        self.length_us = plan.length_us
        self.window: Window = _window(plan)
        self.pacer = Pacer(plan.interval_us, plan.burst) if plan.interval_us else None

    def retune(self, plan: AxisPlan) -> None:
        """Take over another limit or guard; what was charged stays charged."""
        self.limit, self.length_us = plan.limit, plan.length_us
        if isinstance(self.window, SlidingWindow):
            self.window.length_us = plan.length_us
        if self.pacer is not None:
            self.pacer.retune(plan.interval_us, plan.burst)

    def earliest(self, amount: int, now: Moment, forgiven: int = 0) -> int:
        """When `amount` may start at the earliest, by this axis alone (monotonic µs; not before now)."""
        start_us = self.window.earliest(amount, self.limit, now, forgiven)
        return start_us if self.pacer is None else max(start_us, self.pacer.earliest())

    def post(self, number: int, amount: int, now: Moment, *, held: bool) -> Posting:
        """Charge a start; `held` reserves without a time, until it is settled."""
        if self.pacer is not None:
            self.pacer.start(number, now.us)
        if held:
            self.window.held += amount
            return Posting(self, number, amount, None)
        return Posting(self, number, amount, self.window.add(amount, now))

    def spacing_us(self, amount: int) -> int:
        """How far apart starts of that size come, in the long run: for those who are told when to come back."""
        share_us = ceil_div(amount * self.length_us, max(1, self.limit))
        return share_us if self.pacer is None else max(share_us, self.pacer.interval_us)

    def copy_charges(self, other: WindowAxis) -> None:
        """Take over what another axis of the same plan was charged, to look ahead."""
        self.window = other.window.copy()
        self.pacer = other.pacer and other.pacer.copy()


class Posting:
    """One charge of one start on one axis. Corrections move by the difference to this charge alone: two never mix."""

    __slots__ = ("amount", "axis", "number", "stamp")

    def __init__(self, axis: WindowAxis, number: int, amount: int, stamp: int | None) -> None:
        self.axis = axis
        self.number = number
        self.amount = amount
        self.stamp = stamp  # None = held

    def settle(self, amount: int, now: Moment) -> None:
        """Correct to `amount`; what was held is charged now. Under a rule without correction: pass its own amount."""
        if self.stamp is None:
            self.axis.window.held -= self.amount
            self.stamp = self.axis.window.add(amount, now)
        else:
            self.axis.window.adjust(self.stamp, amount - self.amount)
        self.amount = amount

    def forget(self) -> None:
        """It was never sent."""
        if self.stamp is None:
            self.axis.window.held -= self.amount
        else:
            self.axis.window.adjust(self.stamp, -self.amount)
        if self.axis.pacer is not None:
            self.axis.pacer.forget(self.number)


def _window(plan: AxisPlan) -> Window:
    spec = plan.spec
    if spec.kind is WindowKind.CALENDAR:
        return CalendarWindow(spec.period, spec.zone)
    return SlidingWindow(plan.length_us)
