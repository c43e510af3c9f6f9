"""The log says how long the line is while there is one, and is silent otherwise."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from relay_project.waiting_log import WaitingLog
from tests.relay_project.use_case_fakes import STOP, TEXT, WHOLE, World


def lines(logs: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(line["event"], line["provider"]) for line in logs if "waiting" in str(line["event"])]


async def world_and_log(*scripts: list[object]) -> tuple[World, WaitingLog]:
    world = await World.open(*scripts, wait_timeout_us=60_000_000)  # type: ignore[arg-type]
    log = WaitingLog(world.coordinator, world.clock)
    log.start()
    return world, log


@pytest.fixture
def known_duration() -> float:
    """How long a call of the model is known to take, once one has ended."""
    return 3.0


async def test_it_tells_the_next_start_and_how_many_wait_every_five_seconds(known_duration: float) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    world, log = await world_and_log([TEXT, first, STOP], [TEXT, second, STOP])
    taught = asyncio.ensure_future(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    await world.clock.advance(known_duration)
    first.set()
    await taught
    calls = [asyncio.ensure_future(world.ask()) for _ in range(3)]
    await world.until(lambda: world.coordinator.snapshot().waiting == 2)
    with capture_logs() as logs:
        await world.clock.advance(0.6)
        assert lines(logs) == [("next start in about 3 s, 2 waiting", "one")]
        await world.clock.advance(4)
        assert len(lines(logs)) == 1
        await world.clock.advance(1)
        assert len(lines(logs)) == 2
    second.set()
    await asyncio.gather(*calls)
    with capture_logs() as logs:
        await world.clock.advance(20)
    assert lines(logs) == []
    log.close()


async def test_a_start_that_cannot_be_foretold_is_not_invented() -> None:
    gate = asyncio.Event()
    world, log = await world_and_log([TEXT, gate, STOP])
    calls = [asyncio.ensure_future(world.ask()) for _ in range(2)]
    await world.until(lambda: world.coordinator.snapshot().waiting == 1)
    with capture_logs() as logs:
        await world.clock.advance(1)
    assert lines(logs) == [("next start not known, 1 waiting", "one")]
    gate.set()
    await asyncio.gather(*calls)
    log.close()


async def test_a_wait_that_is_over_at_once_is_not_worth_a_line() -> None:
    world, log = await world_and_log([WHOLE])
    with capture_logs() as logs:
        calls = [asyncio.ensure_future(world.ask(world.call(stream=False))) for _ in range(3)]
        await asyncio.gather(*calls)
        await world.clock.advance(10)
    assert lines(logs) == []
    log.close()
