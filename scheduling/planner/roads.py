"""Ways to the provider without the relay: straight on (the upstream itself), or past a gate that counts along."""

from __future__ import annotations

from scheduling.planner.calls import Call, Caller
from scheduling.planner.ruler import gauges
from scheduling.planner.scenario import Provider
from scheduling.planner.timeline import Timeline
from scheduling.planner.upstream import CHARGES, Upstream


class Gate:
    """Lets a call through once it fits, by counters that are the provider's own. It knows the provider's clock and its
    rules exactly, which nobody does who stands outside: the yardstick for the relay, not a competitor."""

    def __init__(self, provider: Provider, timeline: Timeline, upstream: Upstream) -> None:
        self._timeline = timeline
        self._upstream = upstream
        self._gauges = gauges(provider.limits)
        self._charge_of = CHARGES[provider.charge]

    def go(self, call: Call, caller: Caller) -> None:
        now_us = self._timeline.now_us
        amounts = [1 if gauge.measure == "requests" else self._charge_of(call) for gauge in self._gauges]
        room_us = max(gauge.room_at(amount, now_us) for gauge, amount in zip(self._gauges, amounts, strict=True))
        if room_us > now_us:
            self._timeline.at(room_us, lambda: self.go(call, caller))
            return
        for gauge, amount in zip(self._gauges, amounts, strict=True):
            gauge.counter.charge(amount, now_us)
        self._upstream.go(call, caller)
