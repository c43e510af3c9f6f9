"""Leases: offered, renewed, given back once, or reaped."""

from __future__ import annotations

from scheduling.core.charge import Ending
from scheduling.core.outcomes import Code
from scheduling.core.spec import Measure
from scheduling.core.tickets import Selection
from tests.scheduling.relays import Bench, S, provider, relay, rules, tpm


def leased(*, offers: bool = False, **changes) -> Bench:
    spec = relay(provider(of=rules(**{"lanes": 1, "max_waiting": 50, **changes})))
    return Bench(spec, lease_us=10 * S, offers=offers)


def renew(bench: Bench, *ids: str, holder: str = "here") -> None:
    bench.note(bench.core.renew(holder, ids, bench.now))


def used(bench: Bench) -> int:
    axis = next(one for one in bench.core.state.providers["p"].axes.values() if one.measure is Measure.TOTAL_TOKENS)
    return axis.window.used(bench.now)


def test_a_lease_that_is_not_renewed_is_reaped_and_its_place_passes_on() -> None:
    bench = leased()
    dead, waiting = bench.ask(holder="gone"), bench.ask(holder="here")
    bench.pass_time(9.9)
    assert bench.running == {dead}
    bench.pass_time(0.1)
    assert bench.lost == [dead]
    assert bench.running == {waiting}


def test_a_renewed_lease_stays() -> None:
    bench = leased()
    lease = bench.ask(holder="here")
    for _ in range(20):
        bench.pass_time(2.5)
        renew(bench, lease)
    assert bench.running == {lease}
    assert not bench.lost


def test_what_a_holder_does_not_name_is_released_and_other_holders_are_left_alone() -> None:
    bench = leased(lanes=3)
    mine, forgotten, others = bench.ask(holder="here"), bench.ask(holder="here"), bench.ask(holder="there")
    renew(bench, mine)
    assert bench.running == {mine, others}
    assert forgotten not in bench.running


def test_a_reaped_leases_charges_stay() -> None:
    bench = leased(windows=(tpm(1000),))
    bench.tokens(100, 300, holder="gone")
    bench.pass_time(10)
    assert not bench.running
    assert used(bench) == 400


def test_an_offer_that_is_not_acknowledged_is_undone_without_a_trace() -> None:
    bench = leased(offers=True, windows=(tpm(1000),))
    offered = bench.tokens(100, 300, holder="gone")
    assert used(bench) == 400
    bench.pass_time(2)
    assert bench.lost == [offered]
    assert not bench.running
    assert used(bench) == 0


def test_an_acknowledged_offer_is_a_lease() -> None:
    bench = leased(offers=True)
    lease = bench.ask(holder="here")
    bench.note(bench.core.acknowledge([lease], bench.now))
    bench.pass_time(9.9)
    assert bench.running == {lease}
    bench.pass_time(0.1)
    assert bench.lost == [lease]


def test_an_offer_on_its_way_is_not_taken_for_a_lease_its_holder_forgot() -> None:
    bench = leased(offers=True)
    offered = bench.ask(holder="here")
    renew(bench)
    assert bench.running == {offered}


def test_after_it_was_reaped_giving_back_does_nothing() -> None:
    bench = leased()
    dead, following = bench.ask(holder="gone"), bench.ask(holder="here")
    bench.pass_time(10)
    renew(bench, following)
    bench.end(dead)
    bench.settle(dead)
    bench.cancel(dead)
    assert bench.running == {following}
    assert bench.core.state.lane.running == 1


def test_a_revoked_tokens_tickets_leave_and_its_running_ones_are_lost() -> None:
    bench = leased(lanes=2)
    running = bench.ask(limits=("token:7",))
    other = bench.ask(limits=("token:8",))
    waiting, staying = bench.ask(limits=("token:7",)), bench.ask(limits=("token:8",), flow="user:b")
    bench.pass_time(3)
    bench.note(bench.core.expel(Selection(key="token:7"), Code.TICKET_CANCELLED, bench.now))
    assert bench.left(waiting).told.queue_us == 3 * S
    assert bench.lost == [running]
    assert (bench.running, bench.waiting) == ({running, other}, {staying})
    bench.end(running, Ending.FAILED)
    assert bench.running == {other, staying}


def test_cancelling_three_lowers_the_count_by_three_at_once() -> None:
    bench = leased()
    bench.ask()
    waiting = [bench.ask() for _ in range(5)]
    bench.note(bench.core.expel(Selection(frozenset(waiting[1:4])), Code.TICKET_CANCELLED, bench.now))
    assert bench.waiting == {waiting[0], waiting[4]}
