"""The provider: judges each call at its arrival by all its limits, and answers or refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from scheduling.planner.calls import Call, Caller, No
from scheduling.planner.drawing import draw_us
from scheduling.planner.journal import Journal
from scheduling.planner.ruler import Entry, Gauge, gauges
from scheduling.planner.scenario import Provider
from scheduling.planner.timeline import SECOND_US, Timeline, in_us

CHARGES: Mapping[str, Callable[[Call], int]] = {
    "prompt_plus_max": lambda call: call.prompt_tokens + call.cap_tokens,
    "max_of": lambda call: max(call.prompt_tokens, call.cap_tokens),
    "prompt": lambda call: call.prompt_tokens,
}


class Upstream:
    def __init__(self, provider: Provider, timeline: Timeline, journal: Journal, rng: Random) -> None:
        self._provider = provider
        self._timeline = timeline
        self._journal = journal
        self._rng = rng
        self._charge_of = CHARGES[provider.charge]
        self._gauges = gauges(provider.limits)
        journal.limits = [gauge.name for gauge in self._gauges]
        for change in provider.changes:
            timeline.at(in_us(change.at_s), partial(self._scale, change.factor))

    def go(self, call: Call, caller: Caller) -> None:
        """A provider is a road too: the direct one."""
        wire_us = draw_us(self._provider.wire_s, self._rng)
        self._timeline.after(wire_us, lambda: self._judge(call, caller))

    def fills(self) -> list[float]:
        """What is used now of each limit, as a share of it."""
        return [gauge.fill(self._timeline.now_us) for gauge in self._gauges]

    def _judge(self, call: Call, caller: Caller) -> None:
        now_us = self._timeline.now_us
        no = self._refusal(call, now_us)
        self._journal.arrived(now_us, None if no is None else no.by)
        entries = self._charge(call, now_us, refused=no is not None)
        self._journal.filled(now_us, self.fills())
        if no is not None:
            told = no
            self._timeline.after(draw_us(self._provider.refusal_s, self._rng), lambda: caller.on_no(told))
            return
        if call.streams:
            self._timeline.after(call.first_token_us, caller.on_first_token)
        self._timeline.after(call.run_us, lambda: self._end(call, caller, entries))

    def _refusal(self, call: Call, now_us: int) -> No | None:
        for gauge in self._gauges:
            room_us = gauge.room_at(self._amount(gauge, call), now_us)
            if room_us > now_us:
                return No(gauge.name, self._told(room_us - now_us))
        return None

    def _charge(self, call: Call, now_us: int, *, refused: bool) -> list[tuple[Gauge, Entry]]:
        charged = []
        for gauge in self._gauges:
            counts = self._provider.counts_refused if gauge.measure == "requests" else False
            if not refused or counts:
                charged.append((gauge, gauge.counter.charge(self._amount(gauge, call), now_us)))
        if not refused:
            self._journal.charged(self._charge_of(call), call.prompt_tokens + call.completion_tokens)
        return charged

    def _end(self, call: Call, caller: Caller, entries: list[tuple[Gauge, Entry]]) -> None:
        if self._provider.refunds:
            unused = max(0, self._charge_of(call) - call.prompt_tokens - call.completion_tokens)
            for gauge, entry in entries:
                if gauge.measure == "tokens":
                    gauge.counter.give_back(entry, unused, self._timeline.now_us)
        caller.on_done()

    def _amount(self, gauge: Gauge, call: Call) -> int:
        return 1 if gauge.measure == "requests" else self._charge_of(call)

    def _told(self, wait_us: int) -> int | None:
        if self._provider.retry_after == "none":
            return None
        if self._provider.retry_after == "whole_seconds":
            return -(-wait_us // SECOND_US) * SECOND_US
        return wait_us

    def _scale(self, factor: float) -> None:
        for gauge in self._gauges:
            gauge.scale(factor)
