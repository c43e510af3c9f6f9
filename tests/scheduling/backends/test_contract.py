"""What every backend owes the coordinator: one body, each backend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import pytest

from scheduling.core.charge import Ending
from scheduling.core.outcomes import Code
from scheduling.core.spec import Class, FlowSpec, RelaySpec, Scope
from scheduling.core.tickets import Actual, Charge, Closure, TargetRef
from scheduling.errors import Evicted, GaveUpWaiting
from tests.scheduling.backends.benches import Bench, ask, benched, code_of, granted
from tests.scheduling.relays import S, provider, relay, rpm, rules, tpm

ONE_LANE = relay(provider(of=rules(lanes=1)), limits=RelaySpec())


@pytest.fixture(params=["memory", "valkey"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    store = request.getfixturevalue("store") if request.param == "valkey" else None
    async with benched(store) as opened:
        yield opened


async def test_a_ticket_that_can_start_starts_and_its_lease_says_where(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    lease = await coordinator.acquire(ask("t1"))
    assert (lease.ticket_id, lease.provider, lease.model, lease.credential_id) == ("t1", "p", "p/m", None)
    assert lease.rules.run_timeout_us == 300 * S
    assert (lease.granted_us, lease.queue_us) == (bench.clock.now_us(), 0)


async def test_the_next_starts_when_one_ends(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    first = await coordinator.acquire(ask("t1"))
    second = bench.call(coordinator, ask("t2"))
    await bench.clock.advance(3)
    assert not second.done()
    first.release()
    assert (await second).queue_us == 3 * S


async def test_a_burst_ends_in_answers_or_clear_refusals_and_leaves_nothing_behind(bench: Bench) -> None:
    coordinator = await bench.open(relay(provider(of=rules(lanes=3)), limits=RelaySpec()))
    calls = [bench.call(coordinator, ask(f"t{number}")) for number in range(30)]
    await bench.clock.advance(0.1)
    for _ in range(12):
        for lease in granted(calls):
            lease.settle(Actual(1, 0, 1))
            lease.release()
        await bench.clock.advance(0.1)
    codes = [await code_of(call) for call in calls]
    assert (codes.count("granted"), codes.count("provider_queue_full")) == (11, 19)
    picture = coordinator.snapshot()
    assert (picture.running, picture.waiting, picture.inside) == (0, 0, 0)


async def test_whoever_waits_to_its_deadline_is_told_when_to_come_back(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    await coordinator.acquire(ask("t1"))
    waiting = bench.call(coordinator, ask("t2", max_wait_us=5 * S))
    await bench.clock.advance(4.9)
    assert not waiting.done()
    await bench.clock.advance(0.2)
    with pytest.raises(GaveUpWaiting) as refused:
        await waiting
    assert refused.value.told.queue_us == 5 * S
    assert refused.value.told.retry_after_us == S


async def test_a_cancelled_waiter_leaves_no_trace(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    first = await coordinator.acquire(ask("t1"))
    gone, stays = bench.call(coordinator, ask("t2")), bench.call(coordinator, ask("t3"))
    await bench.clock.advance(1)
    gone.cancel()
    await bench.clock.advance(0)
    assert coordinator.snapshot().waiting == 1
    first.release()
    assert (await stays).ticket_id == "t3"


async def test_a_caller_that_goes_while_it_lines_up_holds_nothing(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    hasty = bench.call(coordinator, ask("t1"))
    await asyncio.sleep(0)
    hasty.cancel()
    with suppress(asyncio.CancelledError):
        (await hasty).release()  # it was there before it was cancelled
    await bench.clock.advance(0)
    assert (await coordinator.acquire(ask("t2"))).ticket_id == "t2"


async def test_starts_are_paced(bench: Bench) -> None:
    coordinator = await bench.open(relay(provider(of=rules(lanes=5, windows=(rpm(6),)))))
    calls = [bench.call(coordinator, ask(f"t{number}")) for number in range(4)]
    await bench.clock.advance(31)
    starts = [lease.granted_us for lease in granted(calls)]
    assert [later - earlier for earlier, later in pairwise(starts)] == [10 * S] * 3


@pytest.mark.parametrize(("answered", "waits_s"), [(0, 0), (10_000, 60)])
async def test_tokens_that_were_not_used_are_given_back(bench: Bench, answered: int, waits_s: int) -> None:
    coordinator = await bench.open(relay(provider(of=rules(lanes=9, wait_timeout_us=90 * S, windows=(tpm(100_000),)))))
    large = Charge(15_000, 10_000, cap_is_callers=True)
    leases = [await coordinator.acquire(ask(f"t{number}", charge=large)) for number in range(4)]
    fifth = bench.call(coordinator, ask("t5", charge=large))
    await bench.clock.advance(0)
    assert not fifth.done()
    for lease in leases:
        lease.settle(Actual(15_000, 0, answered))
    await bench.clock.advance(60)
    assert (await fifth).queue_us == waits_s * S


async def test_a_request_larger_than_a_limit_never_lines_up(bench: Bench) -> None:
    coordinator = await bench.open(relay(provider(of=rules(windows=(tpm(100),)))))
    refused = bench.call(coordinator, ask("t1", charge=Charge(80, 50, cap_is_callers=True)))
    assert await code_of(refused) == "request_exceeds_limit"


async def test_own_limits_refuse_at_once(bench: Bench) -> None:
    spec = relay(provider(), flows=[FlowSpec("user:a", rpm=1)])
    coordinator = await bench.open(spec)
    await coordinator.acquire(ask("t1"))
    assert await code_of(bench.call(coordinator, ask("t2"))) == "token_limit_reached"


async def test_interactive_goes_before_batch(bench: Bench) -> None:
    coordinator = await bench.open(relay(provider(of=rules(lanes=2))))
    first, second = await coordinator.acquire(ask("t1")), await coordinator.acquire(ask("t2"))
    later = bench.call(coordinator, ask("t3", klass=Class.BATCH))
    await bench.clock.advance(0)
    sooner = bench.call(coordinator, ask("t4", klass=Class.INTERACTIVE))
    await bench.clock.advance(1)
    first.release()
    assert (await sooner).ticket_id == "t4"
    second.release()
    assert (await later).ticket_id == "t3"


async def test_a_closed_target_makes_wait_and_reopening_lets_go_on(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    target = TargetRef("p", Scope.PROVIDER)
    coordinator.close_target(Closure(target, bench.clock.wall_us() + 30 * S, "busy", used_up=False))
    waiting = bench.call(coordinator, ask("t1"))
    await bench.clock.advance(5)
    assert not waiting.done()
    coordinator.reopen_target(target)
    assert (await waiting).queue_us == 5 * S


async def test_what_is_used_up_sends_away_whoever_cannot_wait_for_it(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    await coordinator.acquire(ask("t1"))
    waiting = bench.call(coordinator, ask("t2"))
    await bench.clock.advance(0)
    until_us = bench.clock.wall_us() + 600 * S
    coordinator.close_target(Closure(TargetRef("p", Scope.PROVIDER), until_us, "used up", used_up=True))
    with pytest.raises(Exception) as refused:
        await waiting
    assert refused.value.code == Code.INSUFFICIENT_QUOTA
    assert refused.value.told.closed_until_wall_us == until_us


async def test_another_configuration_acts_on_those_who_wait(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    await coordinator.acquire(ask("t1"))
    calls = [bench.call(coordinator, ask(f"w{number}")) for number in range(5)]
    await bench.clock.advance(0)
    coordinator.configure(relay(provider(of=rules(lanes=4)), limits=RelaySpec(), version=2))
    await bench.clock.advance(0)
    assert len(granted(calls)) == 3
    gone = replace(provider(), rules=None)
    coordinator.configure(relay(gone, limits=RelaySpec(), version=3))
    await bench.clock.advance(0)
    assert [await code_of(call) for call in calls[3:]] == ["lane_profile_missing"] * 2


async def test_whoever_is_withdrawn_leaves_the_line_and_loses_its_lease(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    lease = await coordinator.acquire(ask("t1", limits=("token:9",)))
    waiting = bench.call(coordinator, ask("t2", limits=("token:9",)))
    await bench.clock.advance(0)
    await coordinator.withdraw("token:9")
    with pytest.raises(Evicted):
        await waiting
    assert lease.is_lost


async def test_a_lease_lives_as_long_as_it_is_renewed(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    lease = await coordinator.acquire(ask("t1"))
    await bench.clock.advance(60)
    assert not lease.is_lost
    coordinator._renewal.set(None)
    await bench.clock.advance(11)
    assert lease.is_lost
    assert coordinator.snapshot().running == 0


async def test_what_was_never_sent_was_never_charged(bench: Bench) -> None:
    coordinator = await bench.open(relay(provider(of=rules(windows=(rpm(1),)))))
    lease = await coordinator.acquire(ask("t1"))
    lease.settle(ending=Ending.UNSENT)
    lease.release()
    assert (await coordinator.acquire(ask("t2"))).queue_us == 0


async def test_the_picture_shows_who_runs_who_waits_and_until_when(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    for number in range(3):  # three runs of 4 s are learned from
        lease = await coordinator.acquire(ask(f"r{number}"))
        await bench.clock.advance(4)
        lease.settle(Actual(1, 0, 1))
        lease.release()
    await coordinator.acquire(ask("t1"))
    bench.call(coordinator, ask("t2", purpose="check"))
    await bench.clock.advance(1)
    picture = coordinator.snapshot()
    assert [(one.id, one.running_ms) for one in picture.leases] == [("t1", 1000)]
    waiting = [(one.id, one.place, one.reason, one.waited_ms, one.estimated_start_ms) for one in picture.tickets]
    assert waiting == [("t2", 1, "provider", 1000, 3000)]
    assert coordinator.predicted(["t2"]) == {"t2": bench.clock.now_us() + 3 * S}
