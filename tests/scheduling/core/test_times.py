"""The times that are told: predicted starts, come-back times, the picture of it all."""

from __future__ import annotations

import itertools
import statistics

import pytest

from scheduling.core.outcomes import Granted, Left
from scheduling.core.spec import ChargeRule, Class, CredentialSpec, FlowSpec, Scope, WindowMode
from scheduling.core.tickets import Charge, Closure, TargetRef
from tests.scheduling.relays import START_US, Bench, S, provider, relay, rpm, rules, tpm


def lined_up(**changes) -> Bench:
    usual = {"lanes": 2, "max_waiting": 300, "wait_timeout_us": 36_000 * S}
    return Bench(relay(provider(of=rules(**{**usual, **changes}), models="ab")))


def teach(bench: Bench, seconds: float, model: str = "p/a", times: int = 5) -> None:
    """Let calls of that model be known to take so long."""
    for _ in range(times):
        ticket = bench.ask(model, flow="user:teacher")
        bench.now_us += round(seconds * S)
        bench.end(ticket)


def predicted(bench: Bench, *tickets: str) -> list[float]:
    starts = bench.core.predict(tickets, bench.now)
    return [(starts[one] - bench.now_us) / S for one in tickets if one in starts]


def run_on(bench: Bench, seconds: float, each_s: float) -> None:
    """Go on: every call ends after `each_s`."""
    end_us = bench.now_us + round(seconds * S)
    while bench.now_us < end_us:
        ends = [lease.granted_us + round(each_s * S) for lease in bench.core.state.leases.values()]
        next_us = min([*ends, bench.due_us or end_us, end_us])
        bench.pass_time(max(0, next_us - bench.now_us) / S)
        for ticket_id, lease in list(bench.core.state.leases.items()):
            if lease.granted_us + round(each_s * S) <= bench.now_us:
                bench.end(ticket_id)


def test_predicted_starts_come_true_when_calls_take_as_long_as_they_use_to() -> None:
    bench = lined_up()
    teach(bench, 10)
    tickets = [bench.ask("p/a", flow=f"user:{number % 3}") for number in range(12)]
    waiting = [one for one in tickets if one in bench.waiting]
    told = dict(zip(waiting, predicted(bench, *waiting), strict=True))
    began_us = bench.now_us
    run_on(bench, 100, 10)
    for ticket, start_s in told.items():
        assert bench.start_times[ticket] == pytest.approx((began_us - START_US) / S + start_s)


def test_predicted_starts_under_pace_are_exact() -> None:
    bench = lined_up(lanes=100, windows=(rpm(12), tpm(2000)), charge_rule=ChargeRule.PROMPT_PLUS_MAX)
    teach(bench, 1)
    charges = [Charge(100 * (1 + number % 4), 100, cap_is_callers=True) for number in range(30)]
    tickets = [bench.ask("p/a", charge=charge, flow=f"user:{number % 4}") for number, charge in enumerate(charges)]
    waiting = [one for one in tickets if one in bench.waiting]
    told = dict(zip(waiting, predicted(bench, *waiting), strict=True))
    began_us = bench.now_us
    run_on(bench, 600, 1)
    errors = [abs(bench.start_times[one] - (began_us - START_US) / S - start_s) for one, start_s in told.items()]
    assert len(errors) >= 28
    assert statistics.median(errors) <= 0.2


def test_what_cannot_be_told_is_left_out() -> None:
    bench = lined_up()
    tickets = [bench.ask("p/a") for _ in range(4)]
    assert predicted(bench, *tickets) == []


def test_looking_ahead_changes_nothing() -> None:
    flows = [FlowSpec("user:a", rpm=50, concurrency=2)]
    windows = (rpm(30), tpm(900, scope=Scope.PROVIDER))
    spec = provider(
        of=rules(lanes=3, max_waiting=50, windows=windows),
        models="ab",
        credentials=(CredentialSpec("k1", "g", lanes=1), CredentialSpec("k2", "h")),
    )

    def play(*, looking: bool) -> list:
        bench = Bench(relay(spec, flows=flows))
        for number in range(20):
            bench.tokens(20, 30, model=f"p/{'ab'[number % 2]}", flow=f"user:{'abc'[number % 3]}", conversation="c")
            if looking:
                bench.core.predict(list(bench.waiting), bench.now)
                bench.core.snapshot(bench.now)
            run_on(bench, 1.3, 2)
        run_on(bench, 100, 2)
        return bench.events

    assert play(looking=True) == play(looking=False)


def test_only_fifty_of_a_model_are_looked_at_and_those_asked_for() -> None:
    bench = lined_up(lanes=1)
    teach(bench, 1)
    tickets = [bench.ask("p/a") for _ in range(120)]
    told = [one.estimated_start_ms for one in bench.core.snapshot(bench.now).tickets]
    assert sum(1 for one in told if one is not None) == 50
    assert predicted(bench, tickets[-1]) == [51.0]  # with what stands before it left out: a lower bound


# --- come-back times --------------------------------------------------------------------------------------------------


def test_one_who_comes_back_at_the_told_time_is_admitted_when_paced() -> None:
    bench = Bench(relay(provider(of=rules(lanes=99, max_waiting=2, windows=(rpm(6),)))))
    for _ in range(3):
        bench.ask()
    left = bench.left(bench.ask())
    assert (left.code, left.told.estimate) == ("provider_queue_full", False)
    bench.pass_time(left.told.retry_after_us / S)
    assert not bench.has_left(bench.ask())


def test_one_who_comes_back_at_the_told_time_is_admitted_after_a_ledger_wait() -> None:
    bench = Bench(relay(provider(of=rules(lanes=99, windows=(tpm(1000),), wait_timeout_us=5 * S))))
    bench.end(bench.tokens(900), prompt_tokens=900, completion_tokens=0)
    bench.pass_time(7)
    left = bench.left(bench.tokens(500))
    assert (left.told.retry_after_us, left.told.estimate) == (53 * S, False)
    bench.pass_time(53)
    assert bench.tokens(500) in bench.running


def test_one_who_comes_back_when_the_closed_target_opens_is_admitted() -> None:
    bench = Bench(relay(provider()))
    closure = Closure(TargetRef("p", Scope.MODEL, "p/m"), bench.now.wall_us + 600 * S, "daily", used_up=True)
    bench.note(bench.core.close(closure, bench.now))
    told = bench.left(bench.ask()).told
    bench.pass_time(told.retry_after_us / S)
    assert bench.ask() in bench.running


def test_for_a_lane_the_p90_of_the_remaining_run_time_is_told_and_marked_as_an_estimate() -> None:
    bench = Bench(relay(provider(of=rules(lanes=1, max_waiting=1))))
    for seconds in (4, 5, 6, 7, 8, 9, 10, 11, 12, 30):
        ticket = bench.ask()
        bench.now_us += seconds * S
        bench.end(ticket)
    bench.ask()
    bench.ask()
    bench.pass_time(5)
    told = bench.left(bench.ask()).told
    assert told.estimate
    assert told.retry_after_us == 7 * S  # of those that ran longer than 5 s, nine in ten had ended after 12
    bench.pass_time(20)
    told = bench.left(bench.ask()).told
    assert told.retry_after_us == 5 * S  # the only one that ran longer than 25 s ended after 30


def test_callers_refused_together_are_told_to_come_back_one_after_the_other() -> None:
    bench = lined_up(lanes=2, max_waiting=2)
    teach(bench, 10)
    for _ in range(4):
        bench.ask("p/a")
    times = [bench.left(bench.ask("p/a")).told.retry_after_us for _ in range(6)]
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [5 * S] * 5


@pytest.mark.parametrize("paced", [True, False])
def test_200_at_once_who_obey_are_refused_at_most_twice_each_on_average_and_all_finish(paced: bool) -> None:
    limits = {"windows": (rpm(60),)} if paced else {}
    bench = Bench(relay(provider(of=rules(lanes=3, wait_timeout_us=60 * S, **limits))))
    coming = [(bench.now_us, number) for number in range(200)]
    refusals, callers, finished = 0, {}, 0
    while coming or bench.running or bench.waiting:
        soonest = min(coming, default=(bench.now_us + S, 0))[0]
        before = len(bench.events)
        run_on(bench, max(0.05, (soonest - bench.now_us) / S), 2)
        for due_us, number in sorted(one for one in coming if one[0] <= bench.now_us):
            coming.remove((due_us, number))
            callers[bench.ask(flow=f"user:{number}")] = number
        for at_us, event in bench.events[before:]:
            if isinstance(event, Left):
                refusals += 1
                coming.append((max(at_us, bench.now_us) + event.told.retry_after_us, callers[event.ticket_id]))
        finished = sum(1 for _, event in bench.events if isinstance(event, Granted))
        assert bench.now_us < START_US + 7200 * S, "it does not end"
    assert finished == 200
    assert refusals <= 2 * 200


# --- the picture ------------------------------------------------------------------------------------------------------


def test_the_snapshot_says_who_runs_who_waits_and_why() -> None:
    spec = relay(
        provider(of=rules(lanes=3, lanes_per_model=1, windows=(rpm(6, mode=WindowMode.ESTIMATE),)), models="ab"),
        flows=[FlowSpec("user:c", concurrency=1)],
    )
    bench = Bench(spec)
    teach(bench, 10, times=3)
    running = bench.ask("p/a", owner="user:a", purpose="check")
    bench.pass_time(4)
    low = bench.ask("p/a", klass=Class.BATCH)
    high = bench.ask("p/a", klass=Class.INTERACTIVE)
    mine = bench.ask("p/b", flow="user:c")
    parked = bench.ask("p/a", flow="user:c", klass=Class.NORMAL)
    bench.pass_time(1.5)
    picture = bench.core.snapshot(bench.now)
    tickets = {one.id: one for one in picture.tickets}
    assert (picture.running, picture.waiting, picture.inside) == (2, 3, 5)
    assert picture.waiting_by_class == {"interactive": 1, "normal": 1, "batch": 1}
    assert [tickets[one].place for one in (high, parked, low)] == [1, 2, 3]
    assert tickets[high].reason == "model"
    assert (tickets[high].waited_ms, tickets[high].estimated_start_ms) == (1500, 4500)
    assert tickets[low].estimated_start_ms == 14_500
    assert {one.id: one.running_ms for one in picture.leases} == {running: 5500, mine: 1500}
    (view,) = picture.providers
    assert (view.running, view.limit, view.waiting, view.longest_running_ms) == (2, 3, 3, 5500)
    (window,) = view.models[0].windows
    assert (window.used, window.limit, window.window_s, window.mode) == (4, 6, 60.0, "estimate")


def test_the_snapshot_shows_pace_closings_and_missing_profiles() -> None:
    bench = Bench(relay(provider(of=rules(windows=(rpm(6),)), models="ab"), provider("q")))
    bench.ask("p/a")
    waiting = bench.ask("p/a")
    bench.note(
        bench.core.close(
            Closure(TargetRef("p", Scope.MODEL, "p/b"), bench.now.wall_us + 90 * S, "daily", used_up=True), bench.now
        )
    )
    bench.pass_time(4)
    picture = bench.core.snapshot(bench.now)
    (ticket,) = picture.tickets
    assert (ticket.id, ticket.reason, ticket.estimated_start_ms) == (waiting, "pace", 6000)
    a, b = picture.providers[0].models
    assert (a.next_start_ms, a.closed_until_ms) == (6000, None)
    assert (b.next_start_ms, b.closed_until_ms, b.closed_reason) == (86_000, 86_000, "daily")
    assert picture.version > 0


def test_the_version_grows_with_every_change() -> None:
    bench = Bench(relay(provider()))
    before = bench.core.snapshot(bench.now).version
    bench.ask()
    assert bench.core.snapshot(bench.now).version > before
