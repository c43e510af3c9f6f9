"""Lanes, classes and turns: who runs, and who goes next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.core.spec import Class, FairBy, RelaySpec
from tests.scheduling.relays import Bench, S, provider, relay, rules

I, N, B = Class.INTERACTIVE, Class.NORMAL, Class.BATCH  # noqa: E741


def bench_of(*models: str, relay_limits: RelaySpec | None = None, **changes) -> Bench:
    wide = {"max_waiting": 100, **changes}
    limits = {"limits": relay_limits} if relay_limits else {}
    return Bench(relay(provider(of=rules(**wide), models=models or ("m",)), **limits))


def test_different_models_run_side_by_side_the_same_model_one_at_a_time() -> None:
    bench = bench_of("a", "b", "c", lanes=3, lanes_per_model=1)
    first = [bench.ask(f"p/{name}") for name in "abc"]
    again = [bench.ask(f"p/{name}") for name in "abc"]
    assert bench.running == set(first)
    bench.end(first[1])
    assert bench.running == {first[0], first[2], again[1]}


def test_never_more_than_the_lanes_of_the_provider() -> None:
    bench = bench_of("a", "b", lanes=3)
    ids = [bench.ask(f"p/{'ab'[number % 2]}") for number in range(9)]
    assert len(bench.running) == 3
    for _ in ids:
        bench.end(sorted(bench.running)[0])
        assert len(bench.running) <= 3


def test_never_more_than_the_relay_runs_in_all() -> None:
    spec = relay(*(provider(key, rules(lanes=3)) for key in "pqrs"), limits=RelaySpec(10, 16))
    bench = Bench(spec)
    for key in "pqrs":
        for _ in range(3):
            bench.ask(f"{key}/m")
    assert len(bench.running) == 10
    assert len(bench.waiting) == 2


def test_a_higher_class_goes_first_and_stops_nothing_that_runs() -> None:
    bench = bench_of(lanes=1)
    running = bench.ask(klass=B)
    low, middle, high = bench.ask(klass=B), bench.ask(klass=N), bench.ask(klass=I)
    assert bench.running == {running}
    for expected in (high, middle, low):
        bench.end(next(iter(bench.running)))
        assert bench.running == {expected}


def test_a_persons_check_goes_ahead_of_waiting_normal_and_batch_and_by_arrival_among_its_own() -> None:
    bench = bench_of(lanes=1)
    running = bench.ask(klass=N)
    batch, normal, call = bench.ask(klass=B), bench.ask(klass=N), bench.ask(klass=I)
    check = bench.ask(klass=I, purpose="check")
    assert bench.running == {running}
    order = []
    while bench.running:
        bench.end(next(iter(bench.running)))
        order += bench.running
    assert order == [call, check, normal, batch]


@pytest.mark.parametrize(("lanes", "batch_at_most"), [(1, 1), (2, 1), (3, 2), (5, 4)])
def test_batch_leaves_one_lane_of_a_provider_free(lanes: int, batch_at_most: int) -> None:
    bench = bench_of(lanes=lanes)
    for _ in range(8):
        bench.ask(klass=B)
    assert len(bench.running) == batch_at_most
    if lanes > 1:
        assert bench.ask(klass=I) in bench.running


def test_batch_leaves_one_lane_of_a_model_free() -> None:
    bench = bench_of(lanes=10, lanes_per_model=3)
    for _ in range(5):
        bench.ask(klass=B)
    assert len(bench.running) == 2
    assert bench.ask(klass=N) in bench.running


def test_batch_leaves_two_places_of_the_relay_free() -> None:
    spec = relay(*(provider(key, rules(lanes=4)) for key in "pqrs"), limits=RelaySpec(10, 100))
    bench = Bench(spec)
    for key in "pqrs":
        for _ in range(4):
            bench.ask(f"{key}/m", klass=B)
    assert len(bench.running) == 8
    assert bench.ask("p/m", klass=I) in bench.running


def test_providers_take_turns_at_the_relays_lane() -> None:
    spec = relay(provider("p", rules(max_waiting=50)), provider("q", rules(max_waiting=50)), limits=RelaySpec(1, 100))
    bench = Bench(spec)
    ids = {bench.ask("p/m"): "p" for _ in range(5)} | {bench.ask("q/m"): "q" for _ in range(3)}
    while bench.running:
        bench.end(next(iter(bench.running)))
    assert "".join(ids[one] for one in bench.started) == "pqpqpqpp"


def test_the_model_with_the_fewest_running_goes_first() -> None:
    bench = bench_of("a", "b", lanes=3)
    for _ in range(3):
        bench.ask("p/a")
    crowd = [bench.ask("p/a") for _ in range(3)]
    single = bench.ask("p/b")
    bench.end(bench.started[0])
    assert single in bench.running
    assert not set(crowd) & bench.running


def test_models_with_equally_many_running_take_turns() -> None:
    bench = bench_of("a", "b", lanes=1)
    ids = {bench.ask("p/a"): "a" for _ in range(4)} | {bench.ask("p/b"): "b" for _ in range(2)}
    while bench.running:
        bench.end(next(iter(bench.running)))
    assert "".join(ids[one] for one in bench.started) == "ababaa"


def test_fair_by_none_is_first_come_first_served_across_users() -> None:
    bench = bench_of(lanes=1, fair_by=FairBy.NONE)
    ids = [bench.ask(flow=f"user:{flow}") for flow in (1, 1, 1, 2, 1, 2, 3)]
    while bench.running:
        bench.end(next(iter(bench.running)))
    assert bench.started == ids


def test_a_model_without_a_lane_profile_is_refused_loudly() -> None:
    bench = Bench(relay(replace(provider(), rules=None)))
    assert bench.left(bench.ask()).code == "lane_profile_missing"
    assert bench.left(bench.ask("p/unknown")).code == "lane_profile_missing"
    assert bench.left(bench.ask("nobody/m")).code == "lane_profile_missing"


def test_a_ticket_that_is_known_changes_nothing_and_ending_twice_gives_back_once() -> None:
    bench = bench_of(lanes=1)
    first = bench.ask()
    second = bench.ask()
    bench.ask(ticket_id=first)
    bench.ask(ticket_id=second)
    assert (bench.running, bench.waiting) == ({first}, {second})
    for _ in range(3):
        bench.end(first)
        bench.cancel(first)
    assert bench.running == {second}
    assert bench.core.state.lane.running == 1


def test_a_reentering_ticket_stands_first_in_its_class_in_order_of_arrival() -> None:
    bench = bench_of(lanes=1)
    running = bench.ask()
    early, late = bench.grant(running).arrival, 10_000
    bench.end(running)
    holder = bench.ask()
    waiting, higher = bench.ask(flow="user:b"), bench.ask(klass=I)
    second = bench.ask(re_enters=True, arrival=late, arrived_us=bench.now_us)
    first = bench.ask(re_enters=True, arrival=early, arrived_us=bench.now_us - 5 * S)
    bench.end(holder)
    while bench.running:
        bench.end(next(iter(bench.running)))
    assert bench.started[2:] == [higher, first, second, waiting]
    assert bench.grant(first).queue_us == 5 * S
    assert bench.grant(first).arrival == early


def test_a_start_that_was_never_sent_costs_its_model_no_turn() -> None:
    bench = bench_of("a", "b", lanes=1)
    for model in "ab":
        bench.end(bench.ask(f"p/{model}"))
    bench.cancel(bench.ask("p/a"))
    holder = bench.ask("p/a", klass=I)
    later, sooner = bench.ask("p/b"), bench.ask("p/a")
    bench.cancel(holder)
    assert bench.running == {sooner}
    assert later in bench.waiting
