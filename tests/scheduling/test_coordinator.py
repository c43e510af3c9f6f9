"""The coordinator on the memory backend: what callers, admins and pages get. No real waiting."""

from __future__ import annotations

import asyncio

import pytest

from scheduling.core.charge import Ending
from scheduling.core.outcomes import Code
from scheduling.core.spec import Class, RelaySpec, Scope
from scheduling.core.tickets import Actual, Charge, Closure, TargetRef
from scheduling.errors import (
    EXCEPTION_OF,
    AtTheDoor,
    Evicted,
    GaveUpWaiting,
    LaneProfileMissing,
    StoreAway,
)
from tests.scheduling.coordinating import ONE_LANE, ask, call, coordinating, is_empty
from tests.scheduling.relays import S, provider, relay, rules, tpm


async def test_a_lease_says_where_and_under_which_rules_it_runs() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        async with coordinator.admit(ask("t1")) as lease:
            assert (lease.ticket_id, lease.provider, lease.model, lease.credential_id) == ("t1", "p", "p/m", None)
            assert lease.rules.run_timeout_us == 300 * S
            assert (lease.granted_us, lease.queue_us, lease.pace_us) == (clock.now_us(), 0, 0)
            assert coordinator.snapshot().running == 1
        assert is_empty(coordinator)


async def test_the_next_starts_when_one_ends_and_knows_how_long_it_waited() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        first = await coordinator.acquire(ask("t1"))
        second = asyncio.create_task(coordinator.acquire(ask("t2")))
        await clock.advance(3)
        assert not second.done()
        first.release()
        assert (await second).queue_us == 3 * S


@pytest.mark.parametrize("burst", [20, 50, 200])
async def test_a_burst_ends_in_answers_or_clear_refusals_and_leaves_nothing_behind(burst: int) -> None:
    spec = relay(provider(of=rules(lanes=3, lanes_per_model=1), models="abc"), limits=RelaySpec())
    async with coordinating(spec) as (coordinator, clock):
        peak = 0

        def watch_peak() -> None:
            nonlocal peak
            peak = max(peak, coordinator._backend._core.state.lane.running)  # type: ignore[attr-defined]

        coordinator.subscribe(watch_peak)
        calls = [
            asyncio.create_task(call(coordinator, clock, ask(f"t{number}", f"p/{'abc'[number % 3]}"), 5))
            for number in range(burst)
        ]
        await clock.advance(200)
        ends = [one.result() for one in calls]
        assert set(ends) == {"done", "provider_queue_full"}
        assert ends.count("done") == 11
        assert peak == 3
        assert is_empty(coordinator)


async def test_every_no_carries_a_code_a_stage_and_a_time_to_come_back() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        await coordinator.acquire(ask("holder"))
        waiting = [asyncio.create_task(coordinator.acquire(ask(f"w{number}"))) for number in range(8)]
        await clock.advance(0)
        with pytest.raises(AtTheDoor) as full:
            await coordinator.acquire(ask("t1"))
        assert (full.value.code, full.value.stage) == ("provider_queue_full", "capacity")
        assert (full.value.provider, full.value.model) == ("p", "p/m")
        assert full.value.told.retry_after_us is not None
        await clock.advance(60)
        for one in waiting:
            error = one.exception()
            assert isinstance(error, GaveUpWaiting)
            assert (error.code, error.told.queue_us) == ("provider_queue_timeout", 60 * S)
            assert error.told.retry_after_us is not None


async def test_a_missing_profile_is_loud() -> None:
    async with coordinating(ONE_LANE) as (coordinator, _):
        with pytest.raises(LaneProfileMissing) as missing:
            await coordinator.acquire(ask("t1", "q/m"))
        assert missing.value.stage == "configuration"


async def test_larger_than_a_limit_is_of_the_stage_quota() -> None:
    async with coordinating(relay(provider(of=rules(windows=(tpm(100),))))) as (coordinator, _):
        with pytest.raises(AtTheDoor) as refused:
            await coordinator.acquire(ask("t1", charge=Charge(500, 100, cap_is_callers=True)))
        assert (refused.value.code, refused.value.stage) == ("request_exceeds_limit", "quota")


def test_every_code_has_its_exception() -> None:
    assert set(EXCEPTION_OF) == set(Code)


async def test_the_one_who_gives_up_its_place_is_told_so() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        await coordinator.acquire(ask("holder"))
        low = [asyncio.create_task(coordinator.acquire(ask(f"b{n}", klass=Class.BATCH))) for n in range(8)]
        await clock.advance(1)
        high = asyncio.create_task(coordinator.acquire(ask("t1", klass=Class.INTERACTIVE)))
        await clock.advance(0)
        error = low[-1].exception()
        assert isinstance(error, Evicted)
        assert (error.code, error.told.queue_us) == ("queue_evicted", S)
        assert not high.done()


# --- settle and release -----------------------------------------------------------------------------------------------


async def test_only_the_first_settle_counts_and_a_release_without_one_keeps_the_charge() -> None:
    spec = relay(provider(of=rules(lanes=3, windows=(tpm(1000),))))
    async with coordinating(spec) as (coordinator, _):

        def used() -> int:
            return coordinator.snapshot().providers[0].models[0].windows[0].used

        charge = Charge(100, 100, cap_is_callers=True)
        first = await coordinator.acquire(ask("t1", charge=charge))
        first.settle(Actual(prompt_tokens=100, completion_tokens=10))
        first.settle(Actual(prompt_tokens=0, completion_tokens=0))
        first.release()
        assert used() == 110
        (await coordinator.acquire(ask("t2", charge=charge))).release()
        assert used() == 310
        refused = await coordinator.acquire(ask("t3", charge=charge))
        refused.settle(ending=Ending.REFUSED)
        refused.release()
        assert used() == 310
        unsent = await coordinator.acquire(ask("t4", charge=charge))
        unsent.settle(ending=Ending.UNSENT)
        unsent.release()
        assert used() == 310


async def test_the_same_ticket_cannot_be_used_twice_at_once() -> None:
    async with coordinating(ONE_LANE) as (coordinator, _):
        lease = await coordinator.acquire(ask("t1"))
        with pytest.raises(ValueError, match="t1"):
            await coordinator.acquire(ask("t1"))
        lease.release()
        (await coordinator.acquire(ask("t1"))).release()
        assert is_empty(coordinator)


# --- admins -----------------------------------------------------------------------------------------------------------


async def test_an_admin_takes_a_ticket_out() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        lease = await coordinator.acquire(ask("holder"))
        waiting = asyncio.create_task(coordinator.acquire(ask("t1")))
        await clock.advance(2)
        await coordinator.cancel("t1")
        await clock.advance(0)
        error = waiting.exception()
        assert isinstance(error, Evicted)
        assert (error.code, error.told.queue_us) == ("ticket_cancelled", 2 * S)
        lost: list[str] = []
        lease.on_lost(lambda: lost.append("told"))
        await coordinator.cancel("holder")
        assert (lost, lease.is_lost) == (["told"], True)
        lease.on_lost(lambda: lost.append("late"))
        assert lost == ["told", "late"]
        lease.release()
        assert is_empty(coordinator)


async def test_a_revoked_tokens_waiting_ticket_never_runs() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        holder = await coordinator.acquire(ask("holder"))
        revoked = asyncio.create_task(coordinator.acquire(ask("t1", limits=("token:7",))))
        await clock.advance(0)
        await coordinator.withdraw("token:7")
        holder.release()
        await clock.advance(0)
        assert isinstance(revoked.exception(), Evicted)


async def test_a_changed_lane_acts_on_the_waiting_at_once() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        calls = [asyncio.create_task(coordinator.acquire(ask(f"t{number}"))) for number in range(4)]
        await clock.advance(0)
        assert sum(one.done() for one in calls) == 1
        coordinator.configure(relay(provider(of=rules(lanes=3)), version=2))
        await clock.advance(0)
        assert sum(one.done() for one in calls) == 3
        for one in calls:
            one.cancel()


async def test_closing_and_reopening_a_target() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        target = TargetRef("p", Scope.PROVIDER)
        coordinator.close_target(Closure(target, clock.wall_us() + 600 * S, "daily", used_up=True))
        with pytest.raises(AtTheDoor) as refused:
            await coordinator.acquire(ask("t1"))
        assert (refused.value.code, refused.value.stage) == ("insufficient_quota", "quota")
        assert refused.value.told.closed_until_wall_us == clock.wall_us() + 600 * S
        coordinator.reopen_target(target)
        (await coordinator.acquire(ask("t2"))).release()


async def test_draining_tells_new_ones_and_those_in_line_at_once_and_lets_those_who_run_go_on() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        first = await coordinator.acquire(ask("t1"))
        second = asyncio.create_task(coordinator.acquire(ask("t2")))
        await clock.advance(0)
        coordinator.drain()
        with pytest.raises(StoreAway) as refused:
            await coordinator.acquire(ask("t3"))
        assert (refused.value.code, refused.value.stage) == ("relay_draining", "relay")
        with pytest.raises(StoreAway):
            await second
        assert (coordinator.snapshot().running, coordinator.snapshot().waiting) == (1, 0)
        first.release()


async def test_closing_ends_every_wait() -> None:
    async with coordinating(ONE_LANE) as (coordinator, clock):
        await coordinator.acquire(ask("t1"))
        waiting = asyncio.create_task(coordinator.acquire(ask("t2")))
        await clock.advance(0)
        await coordinator.close()
        await clock.advance(0)
        error = waiting.exception()
        assert isinstance(error, StoreAway)
        assert error.code == "relay_draining"
