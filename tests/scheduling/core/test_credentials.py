"""The credential is chosen at the start, in the same decision."""

from __future__ import annotations

from scheduling.core.spec import CredentialSpec, Scope
from scheduling.core.tickets import Closure, TargetRef
from tests.scheduling.relays import Bench, S, provider, relay, rpm, rules


def keyed(*credentials: CredentialSpec, models: str = "m", **changes) -> Bench:
    usual = {"lanes": 50, "max_waiting": 50, **changes}
    return Bench(relay(provider(of=rules(**usual), models=models, credentials=credentials)))


def key(name: str, **changes) -> CredentialSpec:
    return CredentialSpec(name, changes.pop("quota_group", f"group-{name}"), **changes)


def chosen(bench: Bench, *tickets: str) -> list[str | None]:
    return [bench.grant(ticket).credential_id for ticket in tickets]


def test_the_least_loaded_credential_is_chosen() -> None:
    bench = keyed(key("k1"), key("k2"))
    tickets = [bench.ask() for _ in range(4)]
    assert sorted(chosen(bench, *tickets)) == ["k1", "k1", "k2", "k2"]


def test_no_credentials_is_no_hindrance() -> None:
    bench = keyed()
    assert chosen(bench, bench.ask()) == [None]


def test_a_credentials_own_lanes_are_kept() -> None:
    bench = keyed(key("k1", lanes=1), key("k2", lanes=2))
    tickets = [bench.ask() for _ in range(5)]
    assert bench.running == set(tickets[:3])
    ended = next(one for one in tickets[:3] if bench.grant(one).credential_id == "k1")
    bench.end(ended)
    assert chosen(bench, tickets[3]) == ["k1"]


def test_a_bound_credential_serves_its_model_only_and_alone() -> None:
    bench = keyed(key("k1", model="p/a"), key("k2"), models="ab")
    assert chosen(bench, *[bench.ask("p/a") for _ in range(2)]) == ["k1", "k1"]
    assert chosen(bench, *[bench.ask("p/b") for _ in range(2)]) == ["k2", "k2"]


def test_credentials_of_one_quota_group_share_its_windows() -> None:
    window = rpm(6, scope=Scope.CREDENTIAL)
    same = keyed(key("k1", quota_group="g"), key("k2", quota_group="g"), windows=(window,))
    assert len({same.ask(), same.ask()} & same.running) == 1
    own = keyed(key("k1"), key("k2"), windows=(window,))
    assert len({own.ask(), own.ask(), own.ask()} & own.running) == 2
    own.pass_time(10)
    assert len(own.running) == 3


def test_a_closed_or_paused_credential_is_gone_round() -> None:
    bench = keyed(key("k1"), key("k2"), key("k3", paused=True))
    closure = Closure(TargetRef("p", Scope.CREDENTIAL, "k1"), bench.now.wall_us + 60 * S, "revoked", used_up=True)
    bench.note(bench.core.close(closure, bench.now))
    assert chosen(bench, *[bench.ask() for _ in range(3)]) == ["k2"] * 3


def test_if_all_credentials_are_used_up_the_earliest_reopening_is_told() -> None:
    bench = keyed(key("k1"), key("k2"))
    for name, seconds in (("k1", 900), ("k2", 300)):
        target = TargetRef("p", Scope.CREDENTIAL, f"group-{name}")
        closure = Closure(target, bench.now.wall_us + seconds * S, "daily", used_up=True)
        bench.note(bench.core.close(closure, bench.now))
    left = bench.left(bench.ask())
    assert (left.code, left.told.retry_after_us) == ("insufficient_quota", 300 * S)


def test_a_conversation_keeps_its_credential() -> None:
    bench = keyed(key("k1"), key("k2"))
    first = bench.ask(conversation="c")
    bench.end(first)
    bench.ask(conversation="other")
    again = [bench.ask(conversation="c") for _ in range(3)]
    assert set(chosen(bench, first, *again)) == set(chosen(bench, first))


def test_a_conversation_waits_for_its_credential_up_to_2_s_and_lets_others_pass() -> None:
    bench = keyed(key("k1"), key("k2"), windows=(rpm(60, window_us=60 * S, scope=Scope.CREDENTIAL),))
    first = bench.ask(conversation="c")
    same, other = bench.ask(conversation="c"), bench.ask(flow="user:b")
    assert same in bench.waiting
    assert chosen(bench, other) != chosen(bench, first)
    bench.pass_time(1)
    assert chosen(bench, same) == chosen(bench, first)


def test_a_conversation_does_not_wait_longer_than_2_s_for_its_credential() -> None:
    bench = keyed(key("k1"), key("k2"), windows=(rpm(20, scope=Scope.CREDENTIAL),))
    first = bench.ask(conversation="c")
    same = bench.ask(conversation="c")
    assert same in bench.running
    assert chosen(bench, same) != chosen(bench, first)


def test_a_conversation_waits_once_only() -> None:
    bench = keyed(key("k1"), key("k2"), windows=(rpm(60, window_us=60 * S, scope=Scope.CREDENTIAL),))
    bench.ask(conversation="c")
    same = bench.ask(conversation="c", flow="user:c")
    bench.pass_time(0.5)
    rival = bench.ask(flow="user:b")  # takes the other one
    assert rival in bench.running
    bench.pass_time(0.5)
    assert same in bench.running


def test_nothing_usable_means_paused() -> None:
    bench = keyed(key("k1", paused=True))
    assert bench.left(bench.ask()).code == "provider_paused"
