"""Who loses the right to be here leaves the line and is stopped."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from accounts.outcomes import Outcome
from relay_project.revocation import revoked_keys
from relay_project.snapshot import Configuration
from scheduling.core.spec import FlowSpec
from scheduling.errors import Evicted
from tests.relay_project.use_case_fakes import TEXT, World, configuration, rules


def with_flows(*keys: str) -> Configuration:
    found = configuration(rules())
    assert found.scheduler is not None
    flows = {key: FlowSpec(key) for key in keys}
    return replace(found, scheduler=replace(found.scheduler, flows=flows))


def test_tokens_and_users_that_are_gone_are_named_and_nobody_else() -> None:
    before = with_flows("user:1", "user:2", "token:1", "token:2", "team:1")
    after = with_flows("user:1", "token:1", "token:9")
    assert revoked_keys(before, after) == {"user:2", "token:2"}


def test_a_team_that_is_gone_takes_nobody_along() -> None:
    assert revoked_keys(with_flows("team:1", "user:1"), with_flows("user:1")) == frozenset()


def test_the_first_version_revokes_nothing() -> None:
    assert revoked_keys(None, with_flows("user:1")) == frozenset()


async def test_what_waits_is_told_and_what_runs_before_its_first_word_is_stopped() -> None:
    """Both calls of the user: one is with the provider, which has not said a word; one is in line."""
    world = await World.open([asyncio.Event()])
    calls = [asyncio.ensure_future(world.ask()) for _ in range(2)]
    await world.until(lambda: world.coordinator.snapshot().waiting == 1 and world.upstream.open == 1)
    await world.coordinator.withdraw("user:7")
    for call in calls:
        with pytest.raises(Evicted) as told:
            await call
        assert (told.value.code, told.value.model) == ("ticket_cancelled", "one")
    assert [row.outcome for row in world.books.rows] == [Outcome.EVICTED] * 2
    assert world.upstream.closed_early == 1
    assert world.is_quiet()


async def test_what_streams_ends_with_the_reason_and_an_honest_row() -> None:
    world = await World.open([TEXT, asyncio.Event()])
    call = asyncio.ensure_future(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    for _ in range(20):
        await asyncio.sleep(0)
    await world.coordinator.withdraw("user:7")
    answer = await call
    assert answer.startswith(TEXT)
    assert b'"code":"ticket_cancelled"' in answer
    [row] = world.books.rows
    assert (row.outcome, row.reason) == (Outcome.EVICTED, "ticket_cancelled")
    assert world.is_quiet()


async def test_the_caller_who_leaves_in_the_same_moment_counts_as_gone() -> None:
    world = await World.open([asyncio.Event()])
    call = asyncio.ensure_future(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    call.cancel()
    await world.coordinator.withdraw("user:7")
    with pytest.raises(asyncio.CancelledError):
        await call
    assert world.books.rows[0].outcome == Outcome.CLIENT_GONE
    assert world.is_quiet()
