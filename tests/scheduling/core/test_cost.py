"""What a verb costs with a thousand waiting, and that it does not grow with them. Printed (`pytest -s`); the bounds are
generous, because a test machine may be busy."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

import pytest

from scheduling.core.spec import FairBy, LaneRules
from tests.scheduling.relays import Bench, S, provider, relay, rpm, rules, tpm

ROUNDS = 400


def _lanes(waiting: int, **changes: object) -> LaneRules:
    return rules(max_waiting=waiting + 10, wait_timeout_us=36_000 * S, **changes)


def _crowd(waiting: int, flows: int, models: int, lane_rules: LaneRules) -> Bench:
    """All lanes taken, and `waiting` tickets of `flows` users over `models` models in line."""
    names = [f"m{number}" for number in range(models)]
    bench = Bench(relay(provider(of=lane_rules, models=names)))
    number = 0
    while len(bench.core.state.tickets) < waiting:
        bench.tokens(10, 10, model=f"p/m{number % models}", flow=f"user:{number % flows}")
        number += 1
    return bench


def _median_us(verb: Callable[[], None]) -> float:
    times = []
    gc.collect()
    gc.disable()
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        verb()
        times.append((time.perf_counter_ns() - began) / 1000)
    gc.enable()
    return statistics.median(times)


def _turn(bench: Bench, models: int, flows: int) -> dict[str, float]:
    """One of each: a release with the start it allows, a new arrival, a cancel."""
    numbers = iter(range(10**9))
    latest: list[str] = []

    def line_up() -> None:
        number = next(numbers)
        latest.append(bench.tokens(10, 10, model=f"p/m{number % models}", flow=f"user:{number % flows}"))

    def release() -> None:
        bench.now_us += 1000
        bench.end(next(iter(bench.core.state.leases)), prompt_tokens=5, completion_tokens=5)

    def cancel() -> None:
        bench.cancel(latest.pop())

    return {
        "release + start": _median_us(release),
        "line up": _median_us(line_up),
        "cancel": _median_us(cancel),
    }


SCENES = {
    "one user, one model": (1, 1, {"lanes": 5}),
    "1,000 users, one model": (1000, 1, {"lanes": 5}),
    "first come, first served": (1000, 1, {"lanes": 5, "fair_by": FairBy.NONE}),
    "1,000 users, 200 models": (1000, 200, {"lanes": 50, "lanes_per_model": 2}),
    "paced, tokens counted": (50, 1, {"lanes": 5, "windows": (rpm(10**7), tpm(10**9))}),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_verb_with_1000_waiting_is_cheap(scene: str) -> None:
    flows, models, changes = SCENES[scene]
    bench = _crowd(1000, flows, models, _lanes(3000, **changes))
    costs = _turn(bench, models, flows)
    print(f"\n{scene}: " + ", ".join(f"{name} {us:.0f} us" for name, us in costs.items()))
    assert all(us < 300 for us in costs.values())


def test_a_verb_does_not_grow_with_the_number_of_those_who_wait() -> None:
    few = _turn(_crowd(600, 600, 1, _lanes(20_000, lanes=5)), 1, 600)
    many = _turn(_crowd(10_000, 10_000, 1, _lanes(20_000, lanes=5)), 1, 10_000)
    print("\nfrom 600 to 10,000 waiting: " + ", ".join(f"{name} × {many[name] / few[name]:.2f}" for name in few))
    assert all(many[name] < 4 * few[name] for name in few)
