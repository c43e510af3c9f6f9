"""At the door: starts, waits, is refused, or pushes someone out."""

from __future__ import annotations

import pytest

from scheduling.core.moment import SECOND_US
from scheduling.core.outcomes import Left
from scheduling.core.spec import ChargeRule, Class, FairBy, Measure, RelaySpec, WindowMode, WindowSpec
from tests.scheduling.relays import Bench, S, provider, relay, rpm, rules, tpm

I, N, B = Class.INTERACTIVE, Class.NORMAL, Class.BATCH  # noqa: E741
DEFAULT = RelaySpec()


def full_line(**changes) -> Bench:
    """One lane, taken; a line of 4."""
    return Bench(relay(provider(of=rules(**{"lanes": 1, "max_waiting": 4, **changes}))))


def test_a_burst_of_200_leaves_no_one_without_an_answer() -> None:
    bench = Bench(relay(provider(of=rules(lanes=3)), limits=DEFAULT))
    ids = [bench.ask(flow=f"user:{number // 100}") for number in range(200)]
    assert len(bench.running) == 3
    assert len(bench.waiting) == 8
    refused = [event for _, event in bench.events if isinstance(event, Left)]
    assert len(refused) == 200 - 11
    assert {one.code for one in refused} == {"provider_queue_full", "queue_evicted"}
    assert all(one.told.retry_after_us and one.told.retry_after_us >= SECOND_US for one in refused)
    while bench.running:
        bench.end(next(iter(bench.running)))
    assert set(bench.started) | {one.ticket_id for one in refused} == set(ids)


def test_a_full_line_refuses_the_newcomer() -> None:
    bench = full_line()
    for _ in range(5):
        bench.ask()
    told = bench.left(bench.ask())
    assert told.code == "provider_queue_full"
    assert told.told.estimate
    assert told.told.queue_us == 0


def test_a_full_relay_refuses_the_newcomer_whatever_its_provider() -> None:
    spec = relay(*(provider(key, rules(lanes=4)) for key in "pqr"), limits=DEFAULT)
    bench = Bench(spec)
    for _ in range(12):
        bench.ask("p/m")
    for _ in range(4):
        bench.ask("q/m")
    assert bench.core.state.inside == 16
    newcomer = bench.ask("r/m")
    assert bench.left(newcomer).code == "gateway_overloaded"
    assert bench.left(newcomer).told.reason == "relay"
    bench.end(next(iter(bench.running)))
    assert bench.ask("r/m") in bench.running


def test_a_newcomer_that_can_start_needs_no_place_in_the_line() -> None:
    spec = relay(provider(of=rules(lanes=3, lanes_per_model=1, max_waiting=2), models="ab"))
    bench = Bench(spec)
    for _ in range(3):
        bench.ask("p/a")
    assert len(bench.waiting) == 2
    assert bench.ask("p/b") in bench.running
    assert bench.left(bench.ask("p/b")).code == "provider_queue_full"


def test_the_youngest_of_the_lowest_class_gives_its_place_to_a_higher_one() -> None:
    bench = full_line()
    bench.ask()
    waiting = [bench.ask(klass=klass) for klass in (B, N, B, N)]
    newcomer = bench.ask(klass=I)
    assert bench.left(waiting[2]).code == "queue_evicted"
    assert bench.waiting == {waiting[0], waiting[1], waiting[3], newcomer}
    bench.ask(klass=I)
    bench.ask(klass=I)
    assert [bench.has_left(one) for one in waiting] == [True, False, True, True]


def test_an_equal_or_lower_class_pushes_nobody_out_of_one_users_line() -> None:
    bench = full_line()
    for _ in range(5):
        bench.ask(klass=N)
    assert bench.left(bench.ask(klass=N)).code == "provider_queue_full"
    assert bench.left(bench.ask(klass=B)).code == "provider_queue_full"


def test_the_flow_with_most_waiting_gives_up_its_youngest_if_that_is_two_more_than_the_newcomers() -> None:
    bench = full_line()
    bench.ask(flow="user:a")
    crowd = [bench.ask(flow="user:a") for _ in range(4)]
    first, second, third = (bench.ask(flow="user:b") for _ in range(3))
    assert [bench.has_left(one) for one in crowd] == [False, False, True, True]
    assert bench.waiting == {crowd[0], crowd[1], first, second}
    assert bench.left(third).code == "provider_queue_full"


def test_one_more_than_the_newcomers_is_not_enough_to_lose_a_place() -> None:
    bench = full_line(max_waiting=5)
    for _ in range(6):
        bench.ask(flow="user:a")
    first, second, third = (bench.ask(flow="user:b") for _ in range(3))
    assert {first, second} <= bench.waiting
    assert bench.left(third).code == "provider_queue_full"


def test_fair_by_none_pushes_nobody_out_of_the_same_class() -> None:
    bench = full_line(fair_by=FairBy.NONE)
    for _ in range(5):
        bench.ask(flow="user:a")
    assert bench.left(bench.ask(flow="user:b")).code == "provider_queue_full"


def test_who_gives_up_its_place_is_told_how_long_it_stood_and_when_to_come_back() -> None:
    bench = full_line()
    bench.ask()
    for _ in range(4):
        low = bench.ask(klass=B)
    bench.pass_time(7)
    bench.ask(klass=I)
    told = bench.left(low).told
    assert told.queue_us == 7 * S
    assert told.retry_after_us >= S


# --- larger than a limit on its own -----------------------------------------------------------------------------------

EXCEEDS = [
    # rule, window, prompt, cap (None = the caller set none), refused?, largest cap that would fit
    (ChargeRule.RESERVE_AND_SETTLE, tpm(1000), 800, 300, True, 200),
    (ChargeRule.RESERVE_AND_SETTLE, tpm(1000), 800, 200, False, None),
    (ChargeRule.RESERVE_AND_SETTLE, tpm(1000), 1200, None, True, 0),
    (ChargeRule.RESERVE_AND_SETTLE, tpm(1000), 800, None, False, None),
    (ChargeRule.MAX_OF, tpm(1000), 800, 900, False, None),
    (ChargeRule.MAX_OF, tpm(1000), 800, 1200, True, 1000),
    (ChargeRule.INPUT_ONLY, tpm(1000), 800, 5000, False, None),
    (ChargeRule.REQUESTS_ONLY, tpm(1000), 5000, 5000, False, None),
    (ChargeRule.INPUT_OUTPUT, WindowSpec(Measure.OUTPUT_TOKENS, 1000), 5000, 1200, True, 1000),
    (ChargeRule.INPUT_OUTPUT, WindowSpec(Measure.INPUT_TOKENS, 1000), 1200, 10, True, 0),
    (ChargeRule.RESERVE_AND_SETTLE, tpm(1000, mode=WindowMode.ESTIMATE), 5000, 10, False, None),
]


@pytest.mark.parametrize(("rule", "window", "prompt", "cap", "refused", "largest"), EXCEEDS)
def test_larger_than_a_limit_on_its_own_is_refused_at_once_but_never_for_a_cap_of_ours(
    rule: ChargeRule, window: WindowSpec, prompt: int, cap: int | None, refused: bool, largest: int | None
) -> None:
    bench = Bench(relay(provider(of=rules(charge_rule=rule, windows=(window,)))))
    ticket = bench.tokens(prompt, cap or 0)
    assert (ticket in bench.running) is not refused
    if refused:
        left = bench.left(ticket)
        assert left.code == "request_exceeds_limit"
        assert left.told.retry_after_us is None  # permanent
        assert left.told.detail["limit"] == 1000
        assert left.told.detail["largest_cap"] == largest
        assert left.told.detail["estimate"] > 1000


def test_a_guessed_cap_above_the_limit_runs_alone_on_an_empty_window() -> None:
    from scheduling.core.tickets import Charge

    bench = Bench(relay(provider(of=rules(windows=(tpm(1000),)))))
    guessed = Charge(prompt_tokens=100, cap_tokens=4096, cap_is_callers=False)
    first, second = bench.ask(charge=guessed), bench.ask(charge=guessed)
    assert bench.running == {first}
    bench.end(first, prompt_tokens=100, completion_tokens=50)
    bench.pass_time(59)
    assert second not in bench.running
    bench.pass_time(1)
    assert second in bench.running


def test_a_used_up_request_window_refuses_nobody_by_itself() -> None:
    bench = Bench(relay(provider(of=rules(windows=(rpm(1, mode=WindowMode.ESTIMATE),)))))
    assert {bench.ask(), bench.ask()} == bench.running
