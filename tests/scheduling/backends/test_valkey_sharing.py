"""Several processes on one store: what one gives back another gets, whatever happens to either."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from scheduling.backends.valkey.layout import Message
from scheduling.coordinator import Coordinator
from scheduling.core.spec import RelaySpec
from scheduling.core.tickets import Actual
from scheduling.errors import StoreAway
from tests.scheduling.backends.benches import Bench, SettlingClock, ask, benched, granted
from tests.scheduling.backends.stores import Store
from tests.scheduling.relays import S, provider, relay, rpm, rules

ONE_LANE = relay(provider(of=rules(lanes=1)), limits=RelaySpec())
SOON_S = 5.0  # of real time, for what takes a millisecond


@pytest.fixture
async def bench(store: Store) -> AsyncIterator[Bench]:
    async with benched(store) as opened:
        yield opened


async def test_what_one_gives_back_the_other_is_told_of_at_once(bench: Bench) -> None:
    one, other = await bench.open(ONE_LANE), await bench.open(ONE_LANE)
    lease = await one.acquire(ask("t1"))
    waiting = bench.call(other, ask("t2"))
    await bench.clock.advance(0)
    assert not waiting.done()
    lease.release()
    assert (await asyncio.wait_for(waiting, SOON_S)).ticket_id == "t2"


async def test_a_push_that_gets_lost_is_made_good_by_the_next_poll(bench: Bench) -> None:
    one, other = await bench.open(ONE_LANE), await bench.open(ONE_LANE)
    lease = await one.acquire(ask("t1"))
    waiting = bench.call(other, ask("t2"))
    await bench.clock.advance(0)
    deafen(other)
    lease.release()
    await bench.clock.advance(0)
    assert not waiting.done()
    await bench.clock.advance(0.5)
    assert (await waiting).ticket_id == "t2"


async def test_a_dropped_push_connection_is_made_again(bench: Bench, store: Store) -> None:
    one, other = await bench.open(ONE_LANE), await bench.open(ONE_LANE)
    lease = await one.acquire(ask("t1"))
    waiting = bench.call(other, ask("t2"))
    await bench.clock.advance(0)
    store.client.client_kill_filter(_type="pubsub")
    await asyncio.sleep(0.05)
    await bench.clock.advance(1)
    lease.release()
    assert (await asyncio.wait_for(waiting, SOON_S)).ticket_id == "t2"


async def test_an_offer_that_nobody_takes_passes_on_without_a_trace(bench: Bench) -> None:
    spec = relay(provider(of=rules(lanes=1, windows=(rpm(600),))))
    one, other = await bench.open(spec), await bench.open(spec)
    lease = await one.acquire(ask("t1"))
    offered, next_one = bench.call(other, ask("t2")), bench.call(one, ask("t3"))
    await bench.clock.advance(1)
    await kill(bench, other)
    lease.release()
    await bench.clock.advance(1.9)
    assert not next_one.done()
    await bench.clock.advance(0.2)
    assert (await next_one).queue_us == 3 * S
    offered.cancel()


async def test_a_killed_process_keeps_neither_places_nor_a_place_in_line(bench: Bench) -> None:
    spec = relay(provider(of=rules(lanes=2, wait_timeout_us=100 * S)))
    one, other = await bench.open(spec), await bench.open(spec)
    await other.acquire(ask("t1"))
    undisturbed = await one.acquire(ask("t2"))
    dead = [bench.call(other, ask(f"d{number}")) for number in range(3)]
    await bench.clock.advance(1)
    waiting = bench.call(one, ask("t3"))
    await kill(bench, other)
    await bench.clock.advance(14)
    assert (await waiting).queue_us < 15 * S
    picture = one.snapshot()
    assert (picture.running, picture.waiting) == (2, 0)
    assert not undisturbed.is_lost
    for call in dead:
        call.cancel()


async def test_a_process_that_was_stopped_for_long_finds_its_lease_lost_and_its_waiters_in_line(bench: Bench) -> None:
    one = await bench.open(ONE_LANE)
    main_clock, bench.clock = bench.clock, SettlingClock()
    other = await bench.open(ONE_LANE)
    stopped_clock, bench.clock = bench.clock, main_clock
    lost = await other.acquire(ask("t1"))
    stopped = bench.call(other, ask("t2"))
    await stopped_clock.advance(0)
    deafen(other)
    await main_clock.advance(20)
    lease = await one.acquire(ask("t3"))
    assert not lost.is_lost
    await stopped_clock.advance(20)
    await main_clock.advance(0)
    assert lost.is_lost
    assert one.snapshot().running == 1
    assert not stopped.done()
    lease.release()
    await main_clock.advance(0)
    await stopped_clock.advance(0.5)
    assert (await stopped).ticket_id == "t2"


async def test_a_lane_is_never_over_however_many_processes(bench: Bench) -> None:
    spec = relay(provider(of=rules(lanes=3, max_waiting=100)))
    processes = [await bench.open(spec) for _ in range(3)]
    running, peak = 0, 0

    async def call(coordinator: Coordinator, ticket_id: str) -> None:
        nonlocal running, peak
        async with coordinator.admit(ask(ticket_id)) as lease:
            running += 1
            peak = max(peak, running)
            await asyncio.sleep(0.001)
            running -= 1
            lease.settle(Actual(1, 0, 1))

    await asyncio.wait_for(asyncio.gather(*(call(processes[number % 3], f"t{number}") for number in range(60))), 60)
    assert peak == 3


async def test_the_newest_configuration_rules_whoever_brings_it(bench: Bench) -> None:
    newer = relay(provider(of=rules(lanes=3)), limits=RelaySpec(), version=2)
    one = await bench.open(newer)
    other = await bench.open(ONE_LANE)
    calls = [bench.call(other, ask(f"t{number}")) for number in range(4)]
    await bench.clock.advance(1)
    assert len(granted(calls)) == 3
    one.configure(ONE_LANE)
    await bench.clock.advance(0)
    assert one.snapshot().providers[0].limit == 3


async def test_verbs_of_one_tick_share_a_round_trip(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator = await bench.open(relay(provider(of=rules(lanes=50))))
    link = coordinator._backend._link  # type: ignore[attr-defined]
    trips: list[list[str]] = []
    send = link.send

    async def counted(calls: list[tuple[str, Message]]) -> list[Message]:
        trips.append([verb for verb, _ in calls])
        return await send(calls)

    monkeypatch.setattr(link, "send", counted)
    leases = await asyncio.gather(*(coordinator.acquire(ask(f"t{number}")) for number in range(20)))
    for lease in leases:
        lease.release()
    await bench.clock.advance(0)
    assert [verbs.count("line_up") for verbs in trips if "line_up" in verbs] == [20]
    assert [verbs.count("release") for verbs in trips if "release" in verbs] == [20]


async def test_a_verb_that_goes_wrong_harms_only_itself(bench: Bench) -> None:
    coordinator = await bench.open(ONE_LANE)
    backend = coordinator._backend
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    backend._put("line_up", lambda: {"ask": {"id": "t0"}}, done=broken)  # type: ignore[attr-defined]
    lease = await coordinator.acquire(ask("t1"))
    with pytest.raises(StoreAway):
        await broken
    assert coordinator._backend.trouble == ""  # type: ignore[attr-defined]
    lease.release()
    assert (await coordinator.acquire(ask("t2"))).ticket_id == "t2"


def deafen(coordinator: Coordinator) -> None:
    """Its push connection is gone and stays so."""
    coordinator._backend._others[0].cancel()  # type: ignore[attr-defined]


async def kill(bench: Bench, coordinator: Coordinator) -> None:
    """As `kill -9` does it: not a word more."""
    backend = coordinator._backend
    bench.coordinators.remove(coordinator)
    bench.clock.backends.remove(backend)  # type: ignore[arg-type]
    backend._rounds.close()  # type: ignore[attr-defined]
    backend._pictures.close()  # type: ignore[attr-defined]
    coordinator._due.set(None)
    coordinator._renewal.set(None)
    tasks = (*backend._others, backend._sending)  # type: ignore[attr-defined]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await backend._link.close()  # type: ignore[attr-defined]
