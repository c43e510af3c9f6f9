"""A store that forgets, goes away, restarts or is another one's: a refusal or a wait, no overshoot, back by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import redis

from relay_project.server.valkey import running_valkey
from scheduling.backends.valkey.backend import ValkeyBackend
from scheduling.backends.valkey.epoch import ForgetfulKeeper
from scheduling.backends.valkey.link import OtherSchema
from scheduling.clock import FakeClock, SystemClock
from scheduling.coordinator import Coordinator
from scheduling.core.spec import RelaySpec, Scope
from scheduling.core.tickets import Actual, Closure, TargetRef
from scheduling.errors import StoreAway
from tests.scheduling.backends.benches import Bench, ask, benched, code_of
from tests.scheduling.backends.stores import Store
from tests.scheduling.backends.test_valkey_sharing import kill
from tests.scheduling.relays import S, provider, relay, rpm, rules

ONE_LANE = relay(provider(of=rules(lanes=1)), limits=RelaySpec())
PACED = relay(provider(of=rules(lanes=9, wait_timeout_us=200 * S, windows=(rpm(6),))))


@pytest.fixture
async def bench(store: Store) -> AsyncIterator[Bench]:
    async with benched(store) as opened:
        yield opened


async def test_a_first_start_ever_waits_for_nobody(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    assert (await coordinator.acquire(ask("t1"))).queue_us == 0


async def test_what_runs_still_counts_after_the_store_forgot_everything(bench: Bench, store: Store) -> None:
    one, other = await bench.open(ONE_LANE), await bench.open(ONE_LANE)
    running = await one.acquire(ask("t1"))
    waiting = bench.call(other, ask("t2"))
    await bench.clock.advance(1)
    store.empty()
    await bench.clock.advance(30)
    assert not running.is_lost
    assert not waiting.done()
    picture = other.snapshot()
    assert (picture.running, picture.waiting) == (1, 1)
    running.settle(Actual(1, 0, 1))
    running.release()
    await bench.clock.advance(1)
    assert (await waiting).queue_us == 31 * S


async def test_what_was_charged_of_late_still_counts(bench: Bench, store: Store) -> None:
    coordinator = await bench.open(PACED)
    (await coordinator.acquire(ask("t1"))).release()
    await bench.clock.advance(1)
    store.empty()
    following = bench.call(coordinator, ask("t2"))
    await bench.clock.advance(8.9)
    assert not following.done()
    await bench.clock.advance(2)
    assert following.done()


async def test_where_a_process_is_missing_short_windows_count_as_full(bench: Bench, store: Store) -> None:
    one, other = await bench.open(PACED), await bench.open(PACED)
    await kill(bench, other)
    store.empty()
    await bench.clock.advance(1)
    waiting = bench.call(one, ask("t1"))
    await bench.clock.advance(60)
    assert not waiting.done()
    await bench.clock.advance(10)
    assert (await waiting).queue_us >= 60 * S


async def test_closings_are_told_again(bench: Bench, store: Store) -> None:
    coordinator = await bench.open(ONE_LANE)
    until_us = bench.clock.wall_us() + 600 * S
    coordinator.close_target(Closure(TargetRef("p", Scope.PROVIDER), until_us, "used up", used_up=True))
    await bench.clock.advance(0)
    store.empty()
    await bench.clock.advance(10)
    assert await code_of(bench.call(coordinator, ask("t1"))) == "insufficient_quota"


async def test_a_new_database_takes_over_an_old_store_whatever_its_version(bench: Bench) -> None:
    old = await bench.open(relay(provider(of=rules(lanes=7)), version=900))
    await kill(bench, old)
    bench.keeper = ForgetfulKeeper()
    fresh = await bench.open(relay(provider(of=rules(lanes=2)), version=1))
    assert fresh.snapshot().providers[0].limit == 2


async def test_a_store_in_use_by_another_schema_is_named(bench: Bench, store: Store) -> None:
    store.client.set(f"{{{store.namespace}}}:schema", "999")
    backend = ValkeyBackend(store.url, FakeClock(), ForgetfulKeeper(), namespace=store.namespace)
    with pytest.raises(OtherSchema, match="999"):
        await backend.open(lambda reply: None)
    await backend._link.close()


@pytest.mark.served
async def test_a_store_that_is_away_refuses_at_once_and_what_runs_goes_on(tmp_path: Path) -> None:
    with running_valkey(tmp_path / "valkey") as url:
        coordinator = await _opened(url)
        running = await coordinator.acquire(ask("t1"))
        waiting = asyncio.create_task(coordinator.acquire(ask("t2")))
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.6)
    with pytest.raises(StoreAway) as refused:
        await coordinator.acquire(ask("t3"))
    assert refused.value.code == "coordinator_unavailable"
    assert not running.is_lost
    running.release()
    with running_valkey(tmp_path / "valkey"):
        lease = await asyncio.wait_for(waiting, 20)
        lease.release()
        await coordinator.close()


@pytest.mark.served
async def test_a_store_that_was_away_at_the_start_is_found_later(tmp_path: Path) -> None:
    coordinator = await _opened(f"unix://{tmp_path}/valkey/valkey.sock")
    with pytest.raises(StoreAway):
        await coordinator.acquire(ask("t1"))
    with running_valkey(tmp_path / "valkey"):
        await asyncio.sleep(1)
        (await asyncio.wait_for(coordinator.acquire(ask("t2")), 10)).release()
        await coordinator.close()


async def _opened(url: str) -> Coordinator:
    clock = SystemClock()
    coordinator = Coordinator(ValkeyBackend(url, clock, ForgetfulKeeper()), clock)
    await coordinator.start()
    coordinator.configure(ONE_LANE)
    return coordinator


@pytest.mark.served
async def test_a_clock_that_jumps_forward_neither_ends_leases_nor_keeps_closings_longer(store: Store) -> None:
    clock = SystemClock()
    backend = ValkeyBackend(store.url, clock, ForgetfulKeeper(), namespace=store.namespace)
    coordinator = Coordinator(backend, clock)
    await coordinator.start()
    coordinator.configure(ONE_LANE)
    lease = await coordinator.acquire(ask("t1"))
    target = TargetRef("p", Scope.PROVIDER)
    coordinator.close_target(Closure(target, clock.wall_us() + 1800 * S, "busy", used_up=False))
    await backend.quiet()
    _set_the_servers_clock(store.client, store.prefix, 3600 * S)
    backend.pump()
    await backend.quiet()
    assert not lease.is_lost
    assert coordinator.snapshot().providers[0].models[0].closed_until_ms is None
    lease.release()
    await coordinator.close()


def _set_the_servers_clock(client: redis.Redis, prefix: str, forward_us: int) -> None:
    """As the store would find it: its last verb was that much longer ago."""
    root = msgspec.msgpack.decode(client.hget(prefix + "state", "root\x1f"))
    root["wall_us"] -= forward_us
    client.hset(prefix + "state", "root\x1f", msgspec.msgpack.encode(root))
    client.hset(prefix + "state", "stamp", "another")
