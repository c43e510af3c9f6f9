"""Callers who ask are told their place in line inside the stream."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any, cast

import pytest

from accounts.outcomes import Outcome
from relay_project.api.queue_events import answer_with_queue_events
from relay_project.calls import Reply
from relay_project.errors import NoSuchModel
from tests.relay_project.use_case_fakes import DONE, STOP, TEXT, World


async def ask(world: World, model: str = "one") -> Reply:
    return await answer_with_queue_events(world.relay.answer, world.call(model), world.clock)


async def read(reply: Reply) -> list[bytes]:
    async with aclosing(cast(Any, reply.stream)) as stream:
        return [part async for part in stream]


def standing_in(part: bytes) -> dict[str, Any]:
    assert part.startswith(b": queue ")
    assert part.endswith(b"\n\n")
    found: dict[str, Any] = json.loads(part[8:])
    return found


async def hold(world: World) -> asyncio.Task[bytes]:
    holding = asyncio.create_task(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    return holding


async def let_go(world: World, holding: asyncio.Task[bytes]) -> None:
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


async def test_who_starts_at_once_is_answered_as_ever() -> None:
    world = await World.open([TEXT, STOP, DONE])
    reply = await ask(world)
    assert dict(reply.headers)["x-relay-model"] == "one"
    assert b"".join(await read(reply)) == TEXT + STOP + DONE


async def test_who_is_refused_at_the_door_gets_the_plain_refusal() -> None:
    world = await World.open([TEXT])
    with pytest.raises(NoSuchModel):
        await ask(world, "nobody")


async def test_who_waits_is_told_the_place_every_second_and_then_gets_the_answer() -> None:
    world = await World.open([asyncio.Event(), TEXT], [TEXT, STOP, DONE], wait_timeout_us=60_000_000)
    holding = await hold(world)
    asking = asyncio.create_task(ask(world))
    await world.until(asking.done)
    reading = asyncio.create_task(read(asking.result()))
    await world.clock.advance(2.5)
    await let_go(world, holding)
    parts = await reading
    told = [standing_in(part) for part in parts if part.startswith(b":")]
    assert [standing["waited_ms"] for standing in told[:3]] == [0, 1000, 2000]
    assert {standing["place"] for standing in told} == {1}
    assert "running 1/1" in told[0]["message"]
    assert b"".join(part for part in parts if not part.startswith(b":")) == TEXT + STOP + DONE
    assert world.is_quiet()


async def test_a_refusal_after_the_place_was_told_is_an_error_event_with_both_times() -> None:
    world = await World.open([asyncio.Event(), TEXT])
    holding = await hold(world)
    asking = asyncio.create_task(ask(world))
    await world.until(asking.done)
    reading = asyncio.create_task(read(asking.result()))
    await world.clock.advance(2.1)
    error = json.loads((await reading)[-1].removeprefix(b"data: "))["error"]
    assert error["code"] == "provider_queue_timeout"
    assert error["retry_after_ms"] > 0
    assert world.books.rows[0].outcome == Outcome.QUEUE_TIMEOUT
    await let_go(world, holding)


async def test_who_leaves_while_being_told_leaves_the_line() -> None:
    world = await World.open([asyncio.Event(), TEXT], wait_timeout_us=60_000_000)
    holding = await hold(world)
    asking = asyncio.create_task(ask(world))
    await world.until(asking.done)
    reading = asyncio.create_task(read(asking.result()))
    await world.clock.advance(1.5)
    await let_go(world, reading)  # type: ignore[arg-type]
    assert world.coordinator.snapshot().waiting == 0
    assert [row.outcome for row in world.books.rows] == [Outcome.CLIENT_GONE]
    await let_go(world, holding)
    assert world.is_quiet()
