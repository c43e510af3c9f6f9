"""What an account really allows: heard from the provider, acted on at once, forgotten in time, shared by processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from providers.contract import Refusal, RefusalKind, RefusalScope
from relay_project.errors import ProviderSaidNo
from scheduling.core.learned import Source
from scheduling.core.spec import Measure, OnBriefRefusal, WindowSpec
from scheduling.errors import Rejection
from tests.relay_project.learning.worlds import (
    HOUR_S,
    RPM,
    call,
    charged,
    learned_world,
    limits_in_force,
    rules_in_force,
    whole,
)
from tests.relay_project.use_case_fakes import World

TOO_MANY_TOKENS = Refusal(
    RefusalKind.RATE_LIMITED,
    RefusalScope.MINUTE,
    retry_after_s=1,
    status=429,
    message="on tokens per min (TPM): Limit 30000, Used 29500, Requested 900.",
)
SLOTS = Refusal(RefusalKind.CONCURRENCY, RefusalScope.CONCURRENCY, status=429, message="2/2 in use")
TOO_FAST = Refusal(RefusalKind.RATE_LIMITED, RefusalScope.SECOND, retry_after_s=1, status=429, message="slow down")
PASS_ON = {"on_brief_refusal": OnBriefRefusal.PASS_ON}


def told(limit: int, remaining: int | None = None) -> dict[str, str]:
    left = {} if remaining is None else {"x-ratelimit-remaining-tokens": str(remaining)}
    return {"x-ratelimit-limit-tokens": str(limit), **left}


async def ask(world: World, limits: dict[str, str] | None = None, **asked: object) -> None:
    world.upstream.limits = limits or {}
    await world.ask(call(world, **asked))  # type: ignore[arg-type]


async def refused(world: World) -> None:
    with pytest.raises(ProviderSaidNo):
        await world.ask(call(world))


def vendor(world: World, name: str) -> None:
    before = world.configuration
    providers = {slug: replace(one, vendor=name) for slug, one in before.providers.items()}
    world.configuration = replace(before, providers=providers)


async def test_a_headers_lower_limit_rules_and_is_followed_up_again() -> None:
    world = await learned_world(whole(1))
    await ask(world, told(30_000))
    assert limits_in_force(world) == [30_000]
    await world.clock.advance(1)
    await ask(world, told(45_000))
    await world.clock.advance(1)
    assert limits_in_force(world) == [45_000]
    await ask(world, told(60_000))
    await world.clock.advance(1)
    assert limits_in_force(world) == [60_000]


async def test_without_another_word_a_limit_is_forgotten_after_an_hour() -> None:
    world = await learned_world(whole(1))
    await ask(world, told(30_000))
    await world.clock.advance(HOUR_S - 1)
    world.learning.limits.forget_old()
    await world.clock.advance(0.5)
    assert limits_in_force(world) == [30_000]
    await world.clock.advance(0.5)
    world.learning.limits.forget_old()
    await world.clock.advance(0.5)
    assert limits_in_force(world) == [60_000]


async def test_a_word_that_is_repeated_keeps_the_limit_alive() -> None:
    world = await learned_world(whole(1))
    for _ in range(3):
        await ask(world, told(30_000))
        await world.clock.advance(HOUR_S / 2)
    world.learning.limits.forget_old()
    assert limits_in_force(world) == [30_000]


async def test_headers_are_read_at_most_once_a_second() -> None:
    world = await learned_world(whole(1))
    await ask(world, told(30_000))
    await ask(world, told(20_000))
    assert limits_in_force(world) == [30_000]


async def test_a_refusals_figures_rule_for_its_model_only() -> None:
    world = await learned_world(TOO_MANY_TOKENS, **PASS_ON)
    await refused(world)
    assert limits_in_force(world) == [30_000]
    assert [window.limit for window in rules_in_force(world, "two/m").windows] == [60_000]


async def test_a_larger_request_than_the_learned_limit_is_refused_for_good() -> None:
    world = await learned_world(whole(1))
    await ask(world, told(30_000))
    with pytest.raises(Rejection) as no:
        await ask(world, cap=40_000)
    assert (no.value.code, no.value.told.detail and no.value.told.detail["limit"]) == (
        "request_exceeds_limit",
        30_000,
    )


async def test_calls_at_once_that_a_refusal_tells_bound_the_model() -> None:
    world = await learned_world(SLOTS, **PASS_ON)
    await refused(world)
    assert (rules_in_force(world).lanes_per_model, rules_in_force(world).lanes) == (2, 4)


async def test_slots_of_a_shared_worker_are_no_limit_of_ours() -> None:
    world = await learned_world(SLOTS, **PASS_ON)
    vendor(world, "nvidia")
    await refused(world)
    assert rules_in_force(world).lanes_per_model is None
    assert world.learning.limits.findings == {}


async def test_a_change_in_the_admin_keeps_what_was_learned_and_a_lower_figure_of_the_admins_wins() -> None:
    world = await learned_world(whole(1))
    await ask(world, told(30_000))
    assert world.configuration.scheduler is not None
    narrow = rules_in_force(world)
    providers = {
        slug: replace(one, models={
            key: replace(model, rules=replace(narrow, windows=(WindowSpec(Measure.TOTAL_TOKENS, 10_000),)))
            for key, model in one.models.items()
        })
        for slug, one in world.configuration.scheduler.providers.items()
    }  # fmt: skip
    world.learning.take_over(replace(world.configuration.scheduler, version=2, providers=providers))
    assert limits_in_force(world) == [10_000]


async def test_use_by_others_is_entered_once_it_was_seen_twice_and_leaves_with_the_window() -> None:
    world = await learned_world(whole(1))
    for _ in range(2):
        assert limits_in_force(world) == [60_000]
        await ask(world, told(60_000, remaining=40_000))
        await world.clock.advance(2)
    assert limits_in_force(world) == [42_000]  # 20,000 less our own, in steps of 3,000
    await world.clock.advance(62)
    world.learning.limits.forget_old()
    await world.clock.advance(0.5)
    assert limits_in_force(world) == [60_000]


async def test_our_own_use_is_not_taken_for_anothers() -> None:
    world = await learned_world(whole(1_000))
    for _ in range(5):
        await ask(world, told(60_000, remaining=60_000 - charged(world) - 1_002), cap=1_000)
        await world.clock.advance(2)
    assert world.learning.limits.findings == {}


async def test_use_by_others_refuses_no_request_for_good() -> None:
    world = await learned_world(whole(1))
    for _ in range(2):
        await ask(world, told(60_000, remaining=10_000))
        await world.clock.advance(2)
    assert limits_in_force(world) == [30_000]  # half at most
    await world.clock.advance(58)
    await ask(world, cap=50_000)
    assert limits_in_force(world) == [60_000]


async def test_a_new_process_and_the_others_know_what_one_has_heard() -> None:
    one, other = await learned_world(whole(1)), await learned_world(whole(1))
    other.learned.shared = one.learned.shared
    await ask(one, told(30_000))
    await go_round(one)
    other.learned.shared = one.learned.shared
    await go_round(other)
    assert limits_in_force(other) == [30_000]
    assert one.learning.limits.revision == other.learning.limits.revision


async def test_a_limit_that_one_process_has_dropped_is_dropped_by_all() -> None:
    one, other = await learned_world(whole(1)), await learned_world(whole(1))
    await ask(one, told(30_000))
    await spread(one, other)
    await other.clock.advance(1)
    await ask(other, told(60_000))
    await spread(other, one)
    await other.clock.advance(1)
    assert limits_in_force(one) == limits_in_force(other) == [60_000]


async def test_a_database_that_is_away_costs_nothing_but_the_sharing() -> None:
    from django.db import OperationalError

    world = await learned_world(whole(1))
    working = world.learned.write

    async def away(*_: object) -> None:
        raise OperationalError

    world.learned.write = away  # type: ignore[method-assign]
    await ask(world, told(30_000))
    await go_round(world)
    assert limits_in_force(world) == [30_000]
    world.learned.write = working  # type: ignore[method-assign]
    await go_round(world)
    assert [finding.figure for finding in world.learned.shared.findings.values()] == [30_000]


async def test_an_adaptive_rate_falls_on_refusals_and_climbs_again() -> None:
    world = await learned_world(TOO_FAST, windows=(RPM,), adaptive=True, lanes=8, **PASS_ON)
    for _ in range(3):
        await refused(world)
        await world.clock.advance(1)
    fallen = rules_in_force(world).windows[-1]
    assert (fallen.window_us, fallen.limit) == (10_000_000, 72)  # 10 a second, a tenth less three times
    world.upstream.scripts = [whole(1)]
    for _ in range(700):
        await ask(world)
        await world.clock.advance(0.5)
    assert rules_in_force(world).windows[-1].limit > 72


async def test_a_profile_that_is_not_adaptive_learns_no_rate() -> None:
    world = await learned_world(TOO_FAST, windows=(RPM,), **PASS_ON)
    await refused(world)
    assert rules_in_force(world).windows == (RPM,)


async def test_a_rate_that_another_process_found_is_gone_on_from() -> None:
    one, other = [await learned_world(TOO_FAST, windows=(RPM,), adaptive=True, **PASS_ON) for _ in range(2)]
    await refused(one)
    await other.clock.advance(5)
    await spread(one, other)
    assert rules_in_force(other).windows[-1].limit == 90
    await refused(other)
    assert rules_in_force(other).windows[-1].limit == 81
    [key] = other.learning.limits.findings
    assert key.source is Source.ADAPTIVE


async def go_round(world: World) -> None:
    world.learning._tick()
    for _ in range(20):
        await world.clock.advance(0)


async def spread(one: World, other: World) -> None:
    await go_round(one)
    other.learned.shared = one.learned.shared
    await go_round(other)
