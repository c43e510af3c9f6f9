"""The store decides as the core does: random histories, every reply compared, and the state at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from scheduling.backends.valkey.library import Library, built, library
from scheduling.core.describe import describe
from scheduling.core.predict import predict
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.state import State
from tests.scheduling.backends.histories import History
from tests.scheduling.backends.stores import Store

SEEDS, STEPS = 200, 200
SEEDS_SLOW, STEPS_SLOW = 1000, 500


def _compare(store: Store, seed: int, length: int, of: Library | None = None, *, cold: bool = False) -> Counter[str]:
    history = History(seed, length)
    answers = store.play(history.steps, of, cold=cold)
    for index, (step, answer) in enumerate(zip(history.steps, answers, strict=True)):
        assert answer == step.answer, f"seed {seed}, step {index}: {step.verb}"
    assert _picture(store.state(), history) == _picture(history.core.state, history)
    store.empty()
    return Counter(
        getattr(event, "code", type(event).__name__) for step in history.steps for event in step.answer.events
    )


def _picture(state: State, history: History) -> tuple[QueueSnapshot, dict[str, int]]:
    picture = describe(state, history.now)
    tickets = tuple(sorted(picture.tickets, key=lambda one: (one.model, one.place)))  # models stand in no order
    return replace(picture, tickets=tickets), predict(state, history.now)


@pytest.mark.parametrize("part", range(4))
def test_on_random_histories_the_store_answers_as_the_core_does(store: Store, part: int) -> None:
    events: Counter[str] = Counter()
    for seed in range(part, SEEDS, 4):
        events += _compare(store, seed, STEPS)
    print(f"\n{events.total()} events: {dict(events.most_common())}")
    assert len(events) >= 11  # every ending occurs: granted, lost, and the codes


def test_it_does_so_when_nothing_is_in_its_memory(store: Store) -> None:
    for seed in range(SEEDS, SEEDS + 20):
        _compare(store, seed, STEPS, cold=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("cold", [False, True])
def test_on_many_long_histories_too(store: Store, cold: bool) -> None:
    for seed in range(1000, 1000 + SEEDS_SLOW):
        _compare(store, seed, STEPS_SLOW, cold=cold)


OFF_BY_ONE = [
    ("lane.running >= limit", "lane.running > limit"),
    ("return tonumber(stamp) + window.length_us", "return tonumber(stamp) + window.length_us + 1"),
    ("(axis.burst - 1) * axis.interval_us", "axis.burst * axis.interval_us"),
    ("most < own + 2", "most < own + 1"),
    ("limiter.running >= limiter.concurrency", "limiter.running > limiter.concurrency"),
    ("math.ceil(dividend / divisor)", "math.floor(dividend / divisor)"),
]


@pytest.mark.parametrize(("right", "wrong"), OFF_BY_ONE)
def test_an_off_by_one_in_the_library_is_found(store: Store, right: str, wrong: str) -> None:
    told = library(told_clock=True)
    assert told.text.count(right) == 1
    patched = built(told.text.partition("\n")[2].replace(right, wrong).replace(told.name, "@LIBRARY@"))
    with pytest.raises(AssertionError, match="seed"):
        _compare_some(store, patched)


def _compare_some(store: Store, of: Library) -> None:
    for seed in range(60):
        _compare(store, seed, STEPS, of)
