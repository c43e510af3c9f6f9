"""Fair sharing, measured against an oracle.

Oracle: max-min fair shares by water-filling; margin: the bound of `lines.py` (one largest request per flow and weight).
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.core.spec import Class, FlowSpec
from tests.scheduling.relays import Bench, S, provider, relay, rules, tpm

SERVICE_S = 1.0


def wide(flows: tuple[FlowSpec, ...] = (), lanes: int = 2, **changes) -> Bench:
    return Bench(
        relay(
            provider(of=rules(lanes=lanes, max_waiting=5000, wait_timeout_us=36_000 * S, **changes), models="ab"),
            flows=flows,
        )
    )


def serve(bench: Bench, seconds: float, offers: dict[str, float] | None = None) -> Counter[str]:
    """Run calls of `SERVICE_S` for a while; flows in `offers` line up so many a second. Counts the served by flow."""
    served: Counter[str] = Counter()
    owed = dict.fromkeys(offers or {}, 0.0)
    for _ in range(round(seconds / SERVICE_S)):
        for flow in sorted(owed):
            owed[flow] += (offers or {})[flow] * SERVICE_S
            while owed[flow] >= 1:
                owed[flow] -= 1
                bench.ask("p/a", flow=flow)
        running = sorted(bench.running)
        bench.pass_time(SERVICE_S)
        for ticket_id in running:
            served[bench.core.state.leases[ticket_id].ask.flow] += 1
            bench.end(ticket_id)
    return served


def max_min_shares(offers: dict[str, float], weights: dict[str, int], capacity: float) -> dict[str, float]:
    """Water-filling: who asks for less than its share gets all it asks for, the rest is shared by weight."""
    shares: dict[str, float] = {}
    left = dict(offers)
    while left:
        level = capacity / sum(weights[flow] for flow in left)
        small = {flow for flow in left if left[flow] <= level * weights[flow]}
        if not small:
            return shares | {flow: level * weights[flow] for flow in left}
        for flow in small:
            shares[flow] = left.pop(flow)
            capacity -= shares[flow]
    return shares


@pytest.mark.parametrize("model_of_b", ["p/a", "p/b"])
@pytest.mark.parametrize("lanes", [1, 3])
def test_one_call_of_another_user_starts_within_one_service_time_of_a_crowd(lanes: int, model_of_b: str) -> None:
    bench = wide(lanes=lanes)
    for _ in range(200):
        bench.ask("p/a", flow="user:a")
    serve(bench, 5)
    single = bench.ask(model_of_b, flow="user:b")
    asked_s = (bench.now_us - 1_000 * S) / S
    serve(bench, 3)
    assert bench.start_times[single] - asked_s <= SERVICE_S


OFFERS = [
    # offers per second of three users, weights, capacity 2 per second
    ({"user:a": 5, "user:b": 5, "user:c": 5}, (1, 1, 1)),
    ({"user:a": 5, "user:b": 5, "user:c": 5}, (1, 2, 3)),
    ({"user:a": 0.25, "user:b": 5, "user:c": 5}, (1, 1, 1)),
    ({"user:a": 0.25, "user:b": 0.5, "user:c": 9}, (1, 1, 1)),
    ({"user:a": 3, "user:b": 0.5, "user:c": 3}, (3, 1, 1)),
]


@pytest.mark.parametrize(("offers", "weights"), OFFERS)
def test_three_users_get_max_min_fair_shares(offers: dict[str, float], weights: tuple[int, ...]) -> None:
    by_flow = dict(zip(offers, weights, strict=True))
    bench = wide(tuple(FlowSpec(flow, weight=weight) for flow, weight in by_flow.items()))
    seconds = 120
    served = serve(bench, seconds, offers)
    for flow, share in max_min_shares(offers, by_flow, capacity=2).items():
        # the bound: one request of this flow, one of another at its weight, and what still runs on the two lanes
        margin = 2 + by_flow[flow] + 2
        assert abs(served[flow] - share * seconds) <= margin, (flow, served, share * seconds)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(10, 500), min_size=2, max_size=4),
    st.lists(st.integers(1, 4), min_size=4, max_size=4),
    st.integers(5, 60),
)
def test_flows_that_wait_throughout_differ_by_no_more_than_the_bound(
    sizes: list[int], weights: list[int], rounds: int
) -> None:
    """Costs by tokens: users with requests of different size get tokens, not requests, by weight."""
    flows = [f"user:{number}" for number in range(len(sizes))]
    limits = tuple(FlowSpec(flow, weight=weight) for flow, weight in zip(flows, weights, strict=False))
    bench = wide(limits, lanes=1, windows=(tpm(100_000),))
    for _ in range(rounds + 2):
        for flow, size in zip(flows, sizes, strict=True):
            bench.tokens(size, model="p/a", flow=flow)
    work: Counter[str] = Counter()
    for _ in range(rounds):
        ticket_id = next(iter(bench.running))
        flow = bench.core.state.leases[ticket_id].ask.flow
        work[flow] += sizes[flows.index(flow)]
        bench.now_us += 1000  # calls of no length: the tokens are what counts
        bench.end(ticket_id)
    normal = [work[flow] / weight for flow, weight in zip(flows, weights, strict=False)]
    largest = [size / weight for size, weight in zip(sizes, weights, strict=False)]
    for one in range(len(flows)):
        for other in range(len(flows)):
            first_costs_nothing = largest[one] + largest[other] + max(sizes)  # the very first start met no line
            assert abs(normal[one] - normal[other]) <= first_costs_nothing


def test_a_user_who_was_away_gets_no_credit_for_it() -> None:
    bench = wide(lanes=1)
    for _ in range(40):
        bench.ask("p/a", flow="user:a")
        bench.ask("p/a", flow="user:b")
    serve(bench, 30)
    for _ in range(40):
        bench.ask("p/a", flow="user:late")
    served = serve(bench, 12)
    assert served["user:late"] <= 5
    assert served["user:a"] >= 3
    assert served["user:b"] >= 3


def test_newcomers_do_not_pass_a_waiting_user_for_ever() -> None:
    bench = wide(lanes=1)
    for _ in range(5):
        bench.ask("p/a", flow="user:a")
    served: Counter[str] = Counter()
    for number in range(40):
        bench.ask("p/a", flow=f"user:new{number}")
        served += serve(bench, 1)
    assert served["user:a"] == 5


def test_batch_delays_interactive_by_no_more_than_what_already_runs() -> None:
    bench = wide(lanes=3)
    for _ in range(50):
        bench.ask("p/a", flow="user:batch", klass=Class.BATCH)
    calls = [bench.ask("p/a", flow="user:a", klass=Class.INTERACTIVE) for _ in range(4)]
    began_s = (bench.now_us - 1_000 * S) / S
    serve(bench, 4)
    assert max(bench.start_times[one] for one in calls) - began_s <= 2 * SERVICE_S


def test_one_providers_crowd_does_not_slow_another() -> None:
    crowded = provider("p", rules(lanes=3, max_waiting=2000))
    bench = Bench(relay(crowded, provider("q", rules(lanes=3))))
    for number in range(1000):
        bench.ask("p/m", flow=f"user:{number % 20}")
    for _ in range(3):
        assert bench.ask("q/m") in bench.running


def test_weights_of_user_and_team_multiply() -> None:
    flows = (FlowSpec("user:a", weight=2), FlowSpec("team:1", weight=2))
    bench = wide(flows, lanes=1)
    for _ in range(60):
        bench.ask("p/a", flow="user:a", limits=("team:1",))
        bench.ask("p/a", flow="user:b")
    served = serve(bench, 50)
    assert 38 <= served["user:a"] <= 42


def test_leaving_and_coming_back_does_not_wipe_out_what_a_user_has_had() -> None:
    """A sends one large request at a time, B small ones from a backlog: tokens are shared, not turns."""
    bench = wide(lanes=1, windows=(tpm(1_000_000),))
    bench.end(bench.ask("p/a"))  # calls take no time: tokens are what counts
    large, small = 1000, 100
    bench.tokens(small, model="p/a", flow="user:b")
    for _ in range(200):
        bench.tokens(small, model="p/a", flow="user:b")
    bench.tokens(large, model="p/a", flow="user:a")
    work: Counter[str] = Counter()
    for _ in range(88):
        (ticket_id,) = bench.running
        flow = bench.core.state.leases[ticket_id].ask.flow
        work[flow] += large if flow == "user:a" else small
        bench.now_us += 1000
        bench.end(ticket_id)
        if flow == "user:a":
            bench.tokens(large, model="p/a", flow="user:a")
    assert abs(work["user:a"] - work["user:b"]) <= large + small


def test_a_user_who_re_enters_stands_where_its_last_start_put_it() -> None:
    bench = wide(lanes=1)
    holder = bench.ask("p/a", flow="user:b")
    first = bench.ask("p/a", flow="user:a")
    for _ in range(5):
        bench.ask("p/a", flow="user:b")
    bench.end(holder)
    assert bench.running == {first}
    bench.end(first)
    bench.ask("p/a", flow="user:a")
    again = bench.core.state.models["p/a"].lines[Class.NORMAL].line_of("user:a")
    assert again is not None
    assert again.tag == S  # a call of unknown length counts as one second on the one lane; the clock is at half of it


def test_a_start_that_was_never_sent_costs_its_user_no_turn() -> None:
    bench = wide(lanes=1)
    holder = bench.ask("p/a", flow="user:c")
    first, second = bench.ask("p/a", flow="user:a"), bench.ask("p/a", flow="user:a")
    bench.ask("p/a", flow="user:b")
    bench.end(holder)
    assert bench.running == {first}
    bench.cancel(first)
    assert bench.running == {second}
