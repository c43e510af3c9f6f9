"""All limits of a simulated provider: one decision over all of them, and what is given back afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.calendar import days_in
from providers.simulator.limits.settings import (
    LIMITS,
    Ceilings,
    Charge,
    Limit,
    Measure,
    Rules,
    Scope,
    WindowKind,
)
from providers.simulator.limits.windows import Bucket, Entry, FixedWindow, SlidingWindow, Window, every

CONCURRENCY = Limit("concurrency", Measure.REQUESTS, 0, "")


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request brings: the counter it belongs to, and what it may cost."""

    model: str
    key: str
    prompt_tokens: int
    cap_tokens: int | None  # None = the caller set none


@dataclass(frozen=True, slots=True)
class Reading:
    """One limit as it stands: `wait_us` until `asked` would fit (None = never), `empty_in_us` until all is
    free.
    """

    limit: Limit
    ceiling: int
    used: int
    asked: int
    wait_us: int | None
    empty_in_us: int

    @property
    def remaining(self) -> int:
        return max(0, self.ceiling - self.used)

    @property
    def never_fits(self) -> bool:
        return self.wait_us is None and self.limit is not CONCURRENCY


@dataclass(slots=True)
class Admission:
    """A request that was let in. `settle` it once, when it has ended."""

    ask: Ask
    scope: str
    entries: list[tuple[Limit, Window, Entry]] = field(default_factory=list)


class LimitBook:
    def __init__(self, ceilings: Ceilings, rules: Rules, started_epoch_s: int) -> None:
        self.ceilings = ceilings
        self.rules = rules
        self._started_epoch_s = started_epoch_s
        self._windows: dict[tuple[str, str], Window] = {}
        self._running: Counter[str] = Counter()

    def admit(self, now_us: int, ask: Ask) -> Admission | tuple[Reading, ...]:
        """Let in and charged, or the limits that stand against it, the longest wait first."""
        against = sorted(
            (reading for reading in self.readings(now_us, ask) if reading.wait_us != 0), key=_longest_first
        )
        if against:
            self._count_refused(now_us, ask)
            return tuple(against)
        return self._take(now_us, ask)

    def settle(self, now_us: int, admission: Admission, produced_tokens: int) -> None:
        """The request has ended, having produced so many tokens."""
        self._running[admission.scope] -= 1
        total = admission.ask.prompt_tokens + produced_tokens
        for limit, window, entry in admission.entries:
            if limit.measure is Measure.OUTPUT_TOKENS:
                window.add(now_us, produced_tokens)
            elif limit.measure is Measure.TOKENS and self.rules.charge is Charge.MEASURED:
                window.add(now_us, total)
            elif limit.measure is Measure.TOKENS and self._gives_back:
                window.correct(entry, now_us, total)

    def readings(self, now_us: int, ask: Ask) -> list[Reading]:
        """Every limit in force for `ask`, as it stands before it."""
        found = []
        for limit, window in self._in_force(now_us, ask):
            asked = max(1, self._arrival_cost(limit.measure, ask))
            wait_us = window.wait_us(now_us, asked)
            used = window.used(now_us)
            found.append(Reading(limit, window.limit, used, asked, wait_us, window.empty_in_us(now_us)))
        if self.ceilings.concurrency is not None:
            running, places = self._running[self._scope(ask)], self.ceilings.concurrency
            found.append(Reading(CONCURRENCY, places, running, 1, 0 if running < places else None, 0))
        return found

    def change(self, now_us: int, ceilings: Ceilings, rules: Rules) -> None:
        """Other figures, the same history; another way of counting begins anew."""
        if rules != self.rules:
            self._windows.clear()
        self.ceilings, self.rules = ceilings, rules
        for place, window in list(self._windows.items()):
            ceiling = getattr(ceilings, place[0])
            if ceiling is None:
                del self._windows[place]
            else:
                window.change_limit(now_us, ceiling)

    def forget(self) -> None:
        """Empty every window; who is running still holds its place."""
        self._windows.clear()

    def _take(self, now_us: int, ask: Ask) -> Admission:
        admission = Admission(ask, self._scope(ask))
        for limit, window in self._in_force(now_us, ask):
            entry = window.add(now_us, self._arrival_cost(limit.measure, ask))
            admission.entries.append((limit, window, entry))
        self._running[admission.scope] += 1
        return admission

    def _count_refused(self, now_us: int, ask: Ask) -> None:
        if self.rules.counts_refused:
            for limit, window in self._in_force(now_us, ask):
                if limit.measure is Measure.REQUESTS:
                    window.add(now_us, 1)

    def _in_force(self, now_us: int, ask: Ask) -> Iterator[tuple[Limit, Window]]:
        for limit in LIMITS:
            ceiling = getattr(self.ceilings, limit.name)
            if ceiling is not None:
                place = (limit.name, self._scope(ask))
                if place not in self._windows:
                    self._windows[place] = self._new_window(limit, ceiling)
                yield limit, self._windows[place]

    def _new_window(self, limit: Limit, ceiling: int) -> Window:
        span_us = limit.span_s * SECOND_US
        kind: str = {"second": self.rules.second, "minute": self.rules.window, "day": self.rules.day}[limit.period]
        if kind in {WindowKind.SLIDING, "rolling"}:
            return SlidingWindow(ceiling, span_us)
        if kind == WindowKind.BUCKET:
            return Bucket(ceiling, span_us)
        if kind == WindowKind.FIXED:
            return FixedWindow(ceiling, every(span_us))
        return FixedWindow(ceiling, days_in(kind, self._started_epoch_s))

    def _scope(self, ask: Ask) -> str:
        return {Scope.ACCOUNT: "", Scope.KEY: ask.key, Scope.MODEL: ask.model}[self.rules.scope]

    def _arrival_cost(self, measure: Measure, ask: Ask) -> int:
        if measure is Measure.REQUESTS:
            return 1
        if measure is Measure.INPUT_TOKENS:
            return ask.prompt_tokens
        if measure is Measure.OUTPUT_TOKENS:
            return 0
        cap = self.rules.default_cap if ask.cap_tokens is None else ask.cap_tokens
        return {
            Charge.PROMPT_PLUS_MAX: ask.prompt_tokens + cap,
            Charge.MAX_OF: max(ask.prompt_tokens, cap),
            Charge.INPUT_ONLY: ask.prompt_tokens,
            Charge.MEASURED: 0,
        }[self.rules.charge]

    @property
    def _gives_back(self) -> bool:
        return self.rules.refund and self.rules.charge is not Charge.INPUT_ONLY


def _longest_first(reading: Reading) -> float:
    """Never-fits first, then by falling wait; a full lane, whose wait nobody knows, last."""
    if reading.wait_us is None:
        return float("inf") if reading.limit is CONCURRENCY else float("-inf")
    return -reading.wait_us
