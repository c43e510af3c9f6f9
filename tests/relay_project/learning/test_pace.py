"""Learning waits its turn: it starts from what is known, works in small portions, and costs a call next to nothing."""

from __future__ import annotations

import asyncio

import pytest

from relay_project.learning import learning as learning_module
from relay_project.learning.learning import LESSONS_AT_ONCE
from relay_project.learning.lengths import lengths_of
from tests.relay_project.learning.worlds import TPM, call, learned_world, whole
from tests.relay_project.use_case_fakes import World


async def started(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the start of a process whose earlier runs have seen 30 answers of 300 tokens."""
    known = lengths_of(("one/m", "user:7", 300) for _ in range(30))
    monkeypatch.setattr(learning_module, "recent_lengths", lambda _now: known)
    await world.learning.start()
    for _ in range(200):
        if world.learning.lengths.expected("one/m", "user:7") is not None:
            return
        await asyncio.sleep(0.005)  # the rows are read in a thread
    raise AssertionError("it never started")


async def test_a_start_remembers_what_earlier_runs_have_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await learned_world(whole(1))
    await started(world, monkeypatch)
    expected = world.learning.lengths.expected("one/m", "user:7")
    assert expected is not None
    assert 300 <= expected < 310
    world.learning.close()


async def test_lessons_are_worked_in_by_portions_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await learned_world(whole(9))
    await started(world, monkeypatch)
    for _ in range(LESSONS_AT_ONCE + 20):
        await world.ask(call(world, cap=10))
    await world.clock.advance(1)
    assert len(world.learning._lessons) == 20
    await world.clock.advance(0.02)
    assert len(world.learning._lessons) == 0
    world.learning.close()


async def test_a_prompt_is_not_measured_where_nobody_counts_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def measure(text: str) -> int:
        measured.append(text)
        return 1

    monkeypatch.setattr(learning_module, "estimate_tokens", measure)
    for windows, times in (((), 0), ((TPM,), 1)):
        world = await learned_world(whole(1), windows=windows)
        await world.ask(call(world))
        assert len(measured) == times


async def test_what_lies_waiting_is_bounded() -> None:
    world = await learned_world(whole(9))
    assert world.learning._lessons.maxlen == learning_module.LESSONS_KEPT
