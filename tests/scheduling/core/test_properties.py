"""Any history keeps the promises: judged by a second, slow opinion (`shadow.py`) after every step."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.core.charge import Ending
from scheduling.core.moment import MINUTE_US
from scheduling.core.outcomes import Granted, Left
from scheduling.core.spec import (
    Class,
    CredentialSpec,
    FairBy,
    FlowSpec,
    RelaySpec,
    SchedulerSpec,
    Scope,
)
from scheduling.core.tickets import Ask, Charge
from tests.scheduling.core.shadow import Shadow
from tests.scheduling.relays import START_US, Bench, S, provider, relay, rpm, rules, tpm, with_model

MODELS = ("p/a", "p/b", "p/c", "q/a", "q/b", "r/a")
FLOWS = ("user:1", "user:2", "user:3", "team:1")


def _spec(fair_by: FairBy = FairBy.USER, max_inside: int = 30) -> SchedulerSpec:
    """Three providers: lanes only, with shared and own windows, and with two credentials."""
    lanes_only = rules(lanes=3, lanes_per_model=1, max_waiting=12, fair_by=fair_by)
    windows = (
        rpm(6, window_us=10 * S, scope=Scope.PROVIDER),
        tpm(100, window_us=20 * S, scope=Scope.PROVIDER),
        tpm(60, window_us=10 * S, scope=Scope.MODEL),
    )
    paced = rules(lanes=4, max_waiting=12, windows=windows, fair_by=fair_by)
    keyed = rules(lanes=5, max_waiting=12, windows=(rpm(4, window_us=8 * S, scope=Scope.CREDENTIAL),), fair_by=fair_by)
    p = provider("p", lanes_only, models="abc")
    q = with_model(provider("q", paced, models="ab"), "b", rules=replace(paced, lanes_per_model=1))
    r = provider(
        "r", keyed, models="a", credentials=(CredentialSpec("k1", "g1", lanes=1), CredentialSpec("k2", "g2", lanes=2))
    )
    flows = (FlowSpec("user:1", concurrency=2), FlowSpec("user:2", weight=3), FlowSpec("team:1", concurrency=3))
    return relay(p, q, r, limits=RelaySpec(max_running=6, max_inside=max_inside), flows=flows)


asks = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "flow": st.sampled_from(FLOWS),
        "klass": st.sampled_from(list(Class)),
        "charge": st.builds(Charge, st.integers(1, 30), st.integers(0, 20), st.booleans()),
        "max_wait_us": st.none() | st.integers(0, 30 * S),
    }
)
endings = st.tuples(st.sampled_from(list(Ending)), st.none() | st.integers(0, 40))
steps = st.one_of(
    st.tuples(st.just("ask"), asks),
    st.tuples(st.just("ask"), asks),
    st.tuples(st.just("end"), st.tuples(st.integers(0, 50), endings)),
    st.tuples(st.just("cancel"), st.integers(0, 50)),
    st.tuples(st.just("pass"), st.integers(0, 8 * S)),
)
histories = st.lists(steps, min_size=25, max_size=70)


class History:
    """Plays steps on a bench, with a shadow looking on."""

    def __init__(self, spec: SchedulerSpec) -> None:
        self.bench = Bench(spec)
        self.shadow = Shadow(self.bench)
        self.cancelled: set[str] = set()
        self._number = 0

    def play(self, step: tuple[str, Any]) -> None:
        kind, value = step
        getattr(self, f"_{kind}")(value)
        self.shadow.check()

    def finish(self) -> None:
        """Let everything run to its end."""
        for _ in range(200):
            for ticket_id in sorted(self.bench.running):
                self._release(ticket_id, Ending.SERVED, None)
                self.shadow.check()
            if not (self.bench.waiting or self.bench.running):
                return
            self._pass(S)

    def _ask(self, ask: dict[str, Any]) -> None:
        self._number += 1
        ticket_id = f"t{self._number}"
        self.shadow.knows(Ask(ticket_id=ticket_id, provider=ask["model"].split("/")[0], **ask))
        self.bench.ask(ticket_id=ticket_id, **ask)

    def _end(self, value: tuple[int, tuple[Ending, int | None]]) -> None:
        index, (ending, total) = value
        running = sorted(self.bench.running)
        if running:
            self._release(running[index % len(running)], ending, total)

    def _release(self, ticket_id: str, ending: Ending, total: int | None) -> None:
        self.shadow.ends(ticket_id, ending, total)
        actual = {} if total is None else {"prompt_tokens": total, "completion_tokens": 0}
        self.bench.end(ticket_id, ending, **actual)

    def _cancel(self, index: int) -> None:
        waiting = sorted(self.bench.waiting)
        if waiting:
            self.cancelled.add(waiting[index % len(waiting)])
            self.bench.cancel(waiting[index % len(waiting)])

    def _pass(self, us: int) -> None:
        end_us = self.bench.now_us + us
        while self.bench.due_us is not None and self.bench.due_us <= end_us:
            self.bench.pass_time((self.bench.due_us - self.bench.now_us) / S)
            self.shadow.check()
        self.bench.now_us = end_us


def _play(history: list[tuple[str, Any]], spec: SchedulerSpec) -> History:
    played = History(spec)
    for step in history:
        played.play(step)
    return played


@settings(max_examples=120, deadline=None)
@given(histories)
def test_no_lane_or_window_is_ever_over_and_no_unpinned_head_waits_with_room(history: list[tuple[str, Any]]) -> None:
    _play(history, _spec()).finish()


@settings(max_examples=50, deadline=None)
@given(histories)
def test_the_relay_never_holds_more_than_its_places_even_if_they_are_few(history: list[tuple[str, Any]]) -> None:
    _play(history, _spec(max_inside=9)).finish()


@settings(max_examples=50, deadline=None)
@given(histories)
def test_every_ticket_ends_and_nothing_is_held_afterwards(history: list[tuple[str, Any]]) -> None:
    played = _play(history, _spec())
    played.finish()
    state = played.bench.core.state
    assert not state.tickets
    assert not state.leases
    assert state.lane.running == 0
    assert not state.deadlines
    assert all(one.lane.running == one.roll.count == 0 for one in state.providers.values())
    assert all(one.lane.running == one.waiting == 0 for one in state.models.values())
    assert all(not any(one.lines) for one in state.models.values())
    assert all(limiter.running == 0 and not limiter.waiting for limiter in state.limiters.values())
    assert all(axis.window.held == 0 for one in state.providers.values() for axis in one.axes.values())
    told = {event.ticket_id for _, event in played.bench.events if isinstance(event, Granted | Left)}
    assert told | played.cancelled == set(played.shadow.asks)  # whose caller has gone is told nothing


@settings(max_examples=50, deadline=None)
@given(histories)
def test_order_is_kept_within_a_flow(history: list[tuple[str, Any]]) -> None:
    played = _play(history, _spec())
    played.finish()
    for starts in _starts_by(played, lambda ask: (ask.model, ask.klass, ask.flow)).values():
        assert starts == sorted(starts)


@settings(max_examples=50, deadline=None)
@given(histories)
def test_fair_by_none_is_plain_first_come_first_served_within_a_model(history: list[tuple[str, Any]]) -> None:
    spec = replace(_spec(fair_by=FairBy.NONE), flows={})
    played = _play(history, spec)
    played.finish()
    for starts in _starts_by(played, lambda ask: (ask.model, ask.klass)).values():
        assert starts == sorted(starts)


def _starts_by(played: History, group: Any) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for ticket_id in played.bench.started:
        found.setdefault(group(played.shadow.asks[ticket_id]), []).append(int(ticket_id[1:]))
    return found


@settings(max_examples=50, deadline=None)
@given(histories, st.integers(0, 60), asks)
def test_a_ticket_cancelled_in_line_changes_nothing(history: list[tuple[str, Any]], at: int, extra: dict) -> None:
    plain, disturbed = History(_spec(max_inside=1000)), History(_spec(max_inside=1000))
    for index, step in enumerate([*history, ("pass", 0)]):
        if index == min(at, len(history)):
            _come_and_go(disturbed, extra)
        plain.play(step)
        disturbed.play(step)
    plain.finish()
    disturbed.finish()
    assert disturbed.bench.start_times == {**plain.bench.start_times, **_of_visitor(disturbed)}


def _come_and_go(history: History, extra: dict) -> None:
    ticket_id = "visitor"
    history.shadow.knows(Ask(ticket_id=ticket_id, provider=extra["model"].split("/")[0], **extra))
    before = len(history.bench.waiting)
    full = history.bench.core.state.providers[extra["model"].split("/")[0]].roll.count == 12
    if full and before:
        return  # it would push someone out, which is a change by right
    history.bench.ask(ticket_id=ticket_id, **extra)
    history.shadow.check()
    history.shadow.ends(ticket_id, Ending.UNSENT, None)
    history.bench.cancel(ticket_id)
    history.shadow.check()


def _of_visitor(history: History) -> dict[str, float]:
    """Its own start, if it could start at once: given back before it was sent."""
    return {key: at for key, at in history.bench.start_times.items() if key == "visitor"}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 60), st.lists(st.integers(0, 20 * S), min_size=2, max_size=40))
def test_with_burst_1_starts_are_never_closer_than_the_interval(limit: int, window_s: int, gaps: list[int]) -> None:
    wide = rules(lanes=1000, max_waiting=1000, wait_timeout_us=3600 * S, windows=(rpm(limit, window_us=window_s * S),))
    bench = Bench(relay(provider(of=wide)))
    for gap_us in gaps:
        bench.pass_time(gap_us / S)
        bench.ask()
    bench.pass_time(len(gaps) * window_s + 1)
    times = [round(at * S) for at in bench.start_times.values()]
    interval_us = -(-window_s * S // limit)
    assert len(times) == len(gaps)
    assert all(later - earlier >= interval_us for earlier, later in itertools.pairwise(times))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 20), st.lists(st.integers(0, 3 * S), min_size=2, max_size=60))
def test_whatever_the_burst_no_minute_wherever_cut_is_over(limit: int, burst: int, gaps: list[int]) -> None:
    wide = rules(lanes=1000, max_waiting=1000, wait_timeout_us=36_000 * S, burst=burst, windows=(rpm(limit),))
    bench = Bench(relay(provider(of=wide)))
    for gap_us in gaps:
        bench.pass_time(gap_us / S)
        bench.ask()
    bench.pass_time(60 * len(gaps) / limit + 120)
    times = sorted(START_US + round(at * S) for at in bench.start_times.values())
    assert len(times) == len(gaps)
    for at_us in times:
        assert sum(1 for one in times if at_us - MINUTE_US < one <= at_us) <= limit
