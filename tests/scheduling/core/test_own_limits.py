"""A user's, token's and team's own limits: refused at once, or parked, never spaced."""

from __future__ import annotations

from scheduling.core.spec import FlowSpec
from tests.scheduling.relays import Bench, S, provider, relay, rules


def own(**limits) -> Bench:
    """A wide provider with lines, and one limited user."""
    return Bench(relay(provider(of=rules(lanes=20, max_waiting=50)), flows=[FlowSpec("user:a", **limits)]))


def test_an_own_rpm_that_is_used_up_is_refused_at_once_with_the_time() -> None:
    bench = own(rpm=3)
    first = [bench.ask() for _ in range(3)]
    assert bench.running == set(first)
    bench.pass_time(10)
    left = bench.left(bench.ask())
    assert left.code == "token_limit_reached"
    assert left.told.retry_after_us == 50 * S
    assert left.told.detail == {"limit_name": "rpm", "limit": 3, "of": "user:a"}
    assert bench.ask(flow="user:b") in bench.running
    bench.pass_time(50)
    assert bench.ask() in bench.running


def test_tickets_in_line_count_towards_the_own_rpm_and_cancelled_ones_do_not() -> None:
    spec = relay(provider(of=rules(lanes=1, max_waiting=50)), flows=[FlowSpec("user:a", rpm=3)])
    bench = Bench(spec)
    ids = [bench.ask() for _ in range(3)]
    assert bench.left(bench.ask()).code == "token_limit_reached"
    bench.cancel(ids[2])
    assert bench.ask() in bench.waiting


def test_own_tokens_are_corrected_when_the_true_use_is_known() -> None:
    bench = own(tpm=1000)
    first = bench.tokens(100, 500)
    assert bench.left(bench.tokens(100, 500)).code == "token_limit_reached"
    bench.end(first, prompt_tokens=100, completion_tokens=20)
    assert bench.tokens(100, 500) in bench.running


def test_a_request_larger_than_the_own_tpm_is_refused_for_good() -> None:
    bench = own(tpm=1000)
    left = bench.left(bench.tokens(900, 500))
    assert left.code == "request_exceeds_limit"
    assert left.told.detail["largest_cap"] == 100
    assert bench.tokens(900) in bench.running


def test_a_request_refused_for_concurrency_uses_up_no_rpm() -> None:
    bench = own(rpm=4, concurrency=1)
    running, *parked = [bench.ask() for _ in range(3)]
    assert bench.left(bench.ask()).told.detail["limit_name"] == "concurrency"
    for ticket in (running, *parked):
        bench.end(ticket)
    assert bench.started == [running, *parked]
    assert bench.ask() in bench.running


def test_own_concurrency_parks_two_in_a_line_and_refuses_the_third_at_once() -> None:
    bench = own(concurrency=2)
    ids = [bench.ask() for _ in range(4)]
    assert bench.running == set(ids[:2])
    assert bench.waiting == set(ids[2:])
    left = bench.left(bench.ask())
    assert left.code == "token_limit_reached"
    assert left.told.retry_after_us == S
    assert left.told.estimate


def test_a_parked_flow_pins_nothing_and_goes_on_when_its_own_ends() -> None:
    spec = relay(provider(of=rules(lanes=3, max_waiting=50)), flows=[FlowSpec("user:a", concurrency=1)])
    bench = Bench(spec)
    running, parked = bench.ask(), bench.ask()
    others = [bench.ask(flow="user:b") for _ in range(4)]
    assert bench.running == {running, others[0], others[1]}
    bench.end(others[0])
    assert others[2] in bench.running
    bench.end(running)
    assert parked in bench.running


def test_a_teams_limit_binds_all_its_users_and_passes_on_in_order() -> None:
    spec = relay(provider(of=rules(lanes=9, max_waiting=50)), flows=[FlowSpec("team:1", concurrency=2)])
    bench = Bench(spec)
    ids = [bench.ask(flow=f"user:{number}", limits=("team:1",)) for number in range(4)]
    assert bench.running == set(ids[:2])
    bench.end(ids[1])
    assert bench.running == {ids[0], ids[2]}
    bench.end(ids[0])
    assert bench.running == {ids[2], ids[3]}


def test_own_limits_nobody_uses_any_more_are_forgotten() -> None:
    flows = [FlowSpec(f"user:{number}", rpm=10) for number in range(500)]
    bench = Bench(relay(provider(of=rules(lanes=20)), flows=flows))
    for number in range(500):
        bench.end(bench.ask(flow=f"user:{number}"))
        bench.now_us += S
    assert len(bench.core.state.limiters) <= 62


def test_refused_at_the_door_nothing_is_remembered_either() -> None:
    flows = [FlowSpec(f"user:{number}", tpm=10) for number in range(500)]
    bench = Bench(relay(provider(of=rules(lanes=20)), flows=flows))
    for number in range(500):
        assert bench.has_left(bench.tokens(100, flow=f"user:{number}"))
        bench.now_us += S
    assert len(bench.core.state.limiters) <= 62


def test_an_own_limit_that_is_taken_away_binds_no_longer() -> None:
    wide = provider(of=rules(lanes=20))
    bench = Bench(relay(wide, flows=[FlowSpec("user:a", concurrency=1)]))
    tickets = [bench.ask() for _ in range(3)]
    bench.configure(relay(wide, version=2))
    assert bench.running == set(tickets)
