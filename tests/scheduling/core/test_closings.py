"""Closed targets: brief and used up, reopening, pausing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.core.spec import Class, Scope
from scheduling.core.tickets import Closure, TargetRef
from tests.scheduling.relays import Bench, S, provider, relay, rules, with_model

PROVIDER = TargetRef("p", Scope.PROVIDER)


def bench_of(models: str = "m", **changes) -> Bench:
    return Bench(relay(provider(of=rules(**{"lanes": 1, "max_waiting": 50, **changes}), models=models), provider("q")))


def close(bench: Bench, seconds: float, *, used_up: bool, target: TargetRef = PROVIDER) -> None:
    closure = Closure(target, bench.now.wall_us + round(seconds * S), "said so", used_up)
    bench.note(bench.core.close(closure, bench.now))


def test_a_brief_closing_is_waited_for_if_the_deadline_allows() -> None:
    bench = bench_of(wait_timeout_us=10 * S)
    close(bench, 5, used_up=False)
    waiting, hasty = bench.ask(), bench.ask(max_wait_us=2 * S)
    left = bench.left(hasty)
    assert (left.code, left.told.retry_after_us) == ("provider_queue_timeout", 5 * S)
    assert left.told.closed_until_wall_us == bench.now.wall_us + 5 * S
    bench.pass_time(5)
    assert bench.start_times[waiting] == 5.0


def test_a_brief_closing_sends_away_those_in_line_who_cannot_wait_for_it() -> None:
    bench = bench_of(wait_timeout_us=30 * S)
    bench.ask()
    patient, hasty = bench.ask(), bench.ask(max_wait_us=3 * S)
    bench.pass_time(1)
    close(bench, 4, used_up=False)
    left = bench.left(hasty)
    assert (left.code, left.told.queue_us, left.told.retry_after_us) == ("provider_queue_timeout", S, 4 * S)
    assert patient in bench.waiting


def test_a_used_up_closing_drops_the_target_at_once() -> None:
    bench = bench_of(wait_timeout_us=60 * S)
    bench.ask()
    patient = bench.ask(arrived_us=bench.now_us + 100 * S)  # its deadline reaches the reopening
    batch, normal = bench.ask(klass=Class.BATCH), bench.ask()
    close(bench, 120, used_up=True)
    assert bench.waiting == {patient, batch}
    left = bench.left(normal)
    assert (left.code, left.told.retry_after_us) == ("insufficient_quota", 120 * S)
    assert left.told.closed_until_wall_us == bench.now.wall_us + 120 * S
    newcomer = bench.left(bench.ask())
    assert (newcomer.code, newcomer.told.retry_after_us) == ("insufficient_quota", 120 * S)


def test_after_a_used_up_closing_one_starts_as_a_trial_the_others_a_second_later() -> None:
    bench = bench_of(lanes=5)
    close(bench, 30, used_up=True)
    tickets = [bench.ask() for _ in range(3)]
    bench.pass_time(40)
    assert [bench.start_times[one] for one in tickets] == [30.0, 31.0, 31.0]


def test_the_trials_first_byte_lets_the_others_start() -> None:
    bench = bench_of(lanes=5)
    close(bench, 30, used_up=True)
    tickets = [bench.ask() for _ in range(3)]
    bench.pass_time(30.2)
    bench.note(bench.core.reopen(PROVIDER, bench.now))
    assert [bench.start_times[one] for one in tickets] == [30.0, 30.2, 30.2]


@pytest.mark.parametrize(("first_s", "second_s", "until_s"), [(1, 30, 30), (30, 1, 30)])
def test_closing_again_never_shortens(first_s: float, second_s: float, until_s: float) -> None:
    bench = bench_of()
    close(bench, first_s, used_up=False)
    close(bench, second_s, used_up=False)
    ticket = bench.ask()
    bench.pass_time(60)
    assert bench.start_times[ticket] == until_s


def test_reset_now_opens_at_once() -> None:
    bench = bench_of()
    close(bench, 30, used_up=False)
    ticket = bench.ask()
    bench.note(bench.core.reopen(PROVIDER, bench.now))
    assert ticket in bench.running


def test_only_the_models_that_share_the_limit_are_closed() -> None:
    spec = provider(of=rules(lanes=9), models="abc")
    for name in "ab":
        spec = with_model(spec, name, limit_group="family")
    bench = Bench(relay(spec))
    close(bench, 600, used_up=True, target=TargetRef("p", Scope.MODEL, "p/a"))
    assert [bench.has_left(bench.ask(f"p/{name}")) for name in "abc"] == [True, True, False]


def test_a_closing_of_one_provider_leaves_the_others_open() -> None:
    bench = bench_of()
    close(bench, 600, used_up=True)
    assert bench.ask("q/m") in bench.running


def test_a_closing_that_is_over_or_of_nobody_changes_nothing() -> None:
    bench = bench_of()
    close(bench, -5, used_up=True)
    close(bench, 60, used_up=True, target=TargetRef("nobody", Scope.PROVIDER))
    bench.note(bench.core.reopen(TargetRef("nobody", Scope.PROVIDER), bench.now))
    assert bench.ask() in bench.running


# --- pause ------------------------------------------------------------------------------------------------------------


def paused(**changes):
    spec = provider(of=rules(lanes=1), paused=True, pause_message="moving house", **changes)
    return relay(spec, version=2)


def test_pausing_lets_running_ones_end_keeps_the_waiting_and_refuses_new_ones_with_the_message() -> None:
    bench = Bench(relay(provider(of=rules(lanes=1))))
    running, waiting = bench.ask(), bench.ask()
    bench.configure(paused())
    assert (bench.running, bench.waiting) == ({running}, {waiting})
    left = bench.left(bench.ask())
    assert (left.code, left.told.detail) == ("provider_paused", {"pause_message": "moving house"})
    bench.end(running)
    assert bench.waiting == {waiting}
    bench.configure(relay(provider(of=rules(lanes=1)), version=3))
    assert bench.running == {waiting}


def test_pausing_may_send_those_who_wait_away() -> None:
    bench = Bench(relay(provider(of=rules(lanes=1))))
    running, waiting = bench.ask(), bench.ask()
    bench.pass_time(2)
    bench.configure(paused(pause_sends_away=True))
    assert bench.running == {running}
    left = bench.left(waiting)
    assert (left.code, left.told.queue_us) == ("provider_paused", 2 * S)


def test_pausing_one_model_leaves_the_others() -> None:
    spec = provider(of=rules(), models="ab")
    bench = Bench(relay(with_model(spec, "a", paused=True)))
    assert bench.left(bench.ask("p/a")).code == "provider_paused"
    assert bench.ask("p/b") in bench.running


# --- configuration ----------------------------------------------------------------------------------------------------


def test_lanes_changed_while_running_act_on_the_waiting_at_once() -> None:
    def lanes(number: int, version: int):
        return relay(provider(of=rules(lanes=number, max_waiting=50)), version=version)

    bench = Bench(lanes(8, 1))
    tickets = [bench.ask() for _ in range(20)]
    assert bench.running == set(tickets[:8])
    bench.configure(lanes(2, 2))
    for _ in range(6):
        bench.end(sorted(bench.running)[0])
    assert len(bench.running) == 2
    bench.end(sorted(bench.running)[0])
    assert len(bench.running) == 2
    bench.configure(lanes(5, 3))
    assert len(bench.running) == 5


def test_rpm_up_and_down_acts_on_the_waiting_at_once() -> None:
    from tests.scheduling.relays import rpm

    def limit(number: int, version: int):
        return relay(provider(of=rules(lanes=99, max_waiting=50, windows=(rpm(number),))), version=version)

    bench = Bench(limit(6, 1))
    tickets = [bench.ask() for _ in range(6)]
    bench.pass_time(1)
    bench.configure(limit(30, 2))
    bench.pass_time(1)
    assert bench.start_times[tickets[1]] == 2.0
    bench.configure(limit(3, 3))
    bench.pass_time(120)
    assert bench.start_times[tickets[2]] >= 22.0


def test_a_model_that_is_gone_lets_running_ones_end_and_sends_the_waiting_away() -> None:
    bench = Bench(relay(provider(of=rules(lanes=1), models="ab")))
    running, waiting = bench.ask("p/a"), bench.ask("p/a")
    bench.configure(relay(provider(of=rules(lanes=1), models="b"), version=2))
    assert bench.left(waiting).code == "lane_profile_missing"
    other = bench.ask("p/b")
    assert other in bench.waiting
    bench.end(running)
    assert bench.running == {other}
    bench.configure(relay(provider("q"), version=3))
    assert bench.running == {other}
    bench.end(other)
    bench.configure(relay(provider("q"), version=4))
    assert set(bench.core.state.models) == {"q/m"}


def test_a_profile_taken_away_is_loud_for_those_who_wait() -> None:
    bench = Bench(relay(provider(of=rules(lanes=1))))
    bench.ask()
    waiting = bench.ask()
    bench.configure(relay(replace(provider(), rules=None), version=2))
    assert bench.left(waiting).code == "lane_profile_missing"


def test_a_limit_lowered_below_what_waits_refuses_that() -> None:
    from tests.scheduling.relays import tpm

    bench = Bench(relay(provider(of=rules(windows=(tpm(1000),)))))
    bench.tokens(600)
    waiting = bench.tokens(700)
    bench.configure(relay(provider(of=rules(windows=(tpm(500),))), version=2))
    assert bench.left(waiting).code == "request_exceeds_limit"


def test_an_own_limit_raised_lets_parked_ones_go() -> None:
    from scheduling.core.spec import FlowSpec

    def limit(number: int, version: int):
        return relay(provider(of=rules(lanes=9)), flows=[FlowSpec("user:a", concurrency=number)], version=version)

    bench = Bench(limit(1, 1))
    tickets = [bench.ask() for _ in range(3)]
    assert len(bench.running) == 1
    bench.configure(limit(3, 2))
    assert bench.running == set(tickets)
