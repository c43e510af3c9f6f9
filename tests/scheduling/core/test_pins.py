"""Pins: what a blocked head keeps for itself, and what passes it."""

from __future__ import annotations

from scheduling.core.spec import Class, Scope, WindowSpec
from tests.scheduling.relays import Bench, S, provider, relay, rpm, rules, tpm, with_model


def paced(*windows: WindowSpec, **changes) -> Bench:
    usual = {"lanes": 1000, "max_waiting": 500, "wait_timeout_us": 3600 * S}
    return Bench(relay(provider(of=rules(**{**usual, "windows": windows, **changes}))))


def test_a_large_request_is_not_overtaken_by_small_ones_of_its_model() -> None:
    bench = paced(tpm(1000))
    bench.end(bench.tokens(600), prompt_tokens=600, completion_tokens=0)
    bench.pass_time(5)
    large = bench.tokens(900, flow="user:a")
    small = [bench.tokens(50, flow=f"user:{number}") for number in range(3)]
    assert bench.waiting == {large, *small}
    bench.pass_time(55)
    assert bench.start_times[large] == 60.0
    assert {small[0], small[1]} <= bench.running
    assert small[2] in bench.waiting


def test_a_blocked_head_pins_what_its_provider_shares_but_not_what_other_models_have_for_themselves() -> None:
    shared = rules(lanes=100, max_waiting=50, windows=(tpm(1000, scope=Scope.PROVIDER),))
    own = rules(lanes=100, max_waiting=50, windows=(tpm(1000),))
    spec = with_model(provider("p", shared, models="abc"), "c", rules=own)
    bench = Bench(relay(spec))
    bench.end(bench.tokens(600, model="p/b"))
    large = bench.tokens(900, model="p/a")
    small, free = bench.tokens(50, model="p/b"), bench.tokens(50, model="p/c")
    assert bench.waiting == {large, small}
    assert free in bench.running


def test_a_higher_class_takes_from_an_axis_that_a_lower_class_waits_for() -> None:
    bench = paced(tpm(1000))
    bench.tokens(600)
    large = bench.tokens(900, klass=Class.NORMAL)
    assert bench.tokens(50, klass=Class.INTERACTIVE) in bench.running
    assert bench.tokens(50, klass=Class.NORMAL, flow="user:b") in bench.waiting
    assert large in bench.waiting


def test_a_head_without_a_lane_pins_nothing() -> None:
    shared = rules(lanes=100, lanes_per_model=1, max_waiting=50, windows=(tpm(1000, scope=Scope.PROVIDER),))
    bench = Bench(relay(provider("p", shared, models="ab")))
    bench.tokens(600, model="p/a")
    large = bench.tokens(900, model="p/a")
    assert large in bench.waiting
    assert bench.tokens(50, model="p/b") in bench.running


def test_models_of_one_limit_group_share_their_windows() -> None:
    spec = provider("p", rules(lanes=100, windows=(rpm(6),)), models="abc")
    for name in "ab":
        spec = with_model(spec, name, limit_group="family")
    bench = Bench(relay(spec))
    first, same, other = bench.ask("p/a"), bench.ask("p/b"), bench.ask("p/c")
    assert bench.running == {first, other}
    bench.pass_time(10)
    assert same in bench.running
