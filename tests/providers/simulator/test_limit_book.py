"""All limits together, with a clock that stands still."""

from __future__ import annotations

import pytest

from providers.simulator.clock import SECOND_US
from providers.simulator.limits.book import Admission, Ask, LimitBook
from providers.simulator.limits.settings import (
    Ceilings,
    Charge,
    Rules,
    Scope,
    WindowKind,
    changed_ceilings,
    changed_rules,
)

S = SECOND_US
EPOCH_S = 1_790_000_000


def book(rules: Rules | None = None, **ceilings: int) -> LimitBook:
    return LimitBook(Ceilings(**ceilings), rules or Rules(window=WindowKind.FIXED), EPOCH_S)


def ask(prompt: int = 100, cap: int | None = 400, model: str = "m", key: str = "k") -> Ask:
    return Ask(model, key, prompt, cap)


def let_in(limits: LimitBook, now_us: int, asked: Ask) -> Admission:
    admission = limits.admit(now_us, asked)
    assert isinstance(admission, Admission), admission
    return admission


def names(refused: object) -> list[str]:
    assert isinstance(refused, tuple)
    return [reading.limit.name for reading in refused]


@pytest.mark.parametrize(
    ("charge", "arrival", "settled"),
    [
        (Charge.PROMPT_PLUS_MAX, 500, 150),
        (Charge.MAX_OF, 400, 150),
        (Charge.INPUT_ONLY, 100, 100),
        (Charge.MEASURED, 0, 150),
    ],
)
def test_a_charge_rule_decides_what_arrival_and_end_cost(charge, arrival, settled):
    limits = book(Rules(charge=charge, refund=True), tpm=1000)
    admission = let_in(limits, 0, ask())
    assert limits.readings(0, ask())[0].used == arrival
    limits.settle(S, admission, produced_tokens=50)
    assert limits.readings(S, ask())[0].used == settled


def test_without_refund_the_charge_at_arrival_stands():
    limits = book(Rules(charge=Charge.PROMPT_PLUS_MAX, refund=False), tpm=1000)
    limits.settle(S, let_in(limits, 0, ask()), produced_tokens=1)
    assert limits.readings(S, ask())[0].used == 500


def test_output_is_counted_when_it_has_been_produced_and_the_cap_is_not():
    limits = book(otpm=100)
    admission = let_in(limits, 0, ask(cap=5000))
    assert limits.readings(0, ask())[0].used == 0
    limits.settle(S, admission, produced_tokens=100)
    assert names(limits.admit(S, ask())) == ["otpm"]


@pytest.mark.parametrize(("counts", "used"), [(True, 3), (False, 1)])
def test_a_refused_call_counts_as_a_request_where_the_provider_does_so(counts, used):
    limits = book(Rules(counts_refused=counts), rpm=1)
    for _ in range(3):
        limits.admit(0, ask())
    assert limits.readings(0, ask())[0].used == used


def test_a_refused_call_costs_no_tokens_and_holds_no_place():
    limits = book(tpm=600, concurrency=2)
    let_in(limits, 0, ask())
    assert names(limits.admit(0, ask())) == ["tpm"]
    assert [(r.limit.name, r.used) for r in limits.readings(0, ask())] == [("tpm", 500), ("concurrency", 1)]


def test_a_place_is_free_again_when_its_request_has_ended():
    limits = book(concurrency=1)
    admission = let_in(limits, 0, ask())
    refused = limits.admit(0, ask())
    assert names(refused) == ["concurrency"]
    assert refused[0].wait_us is None
    limits.settle(1, admission, 0)
    let_in(limits, 1, ask())


def test_the_longest_wait_is_told_first_and_what_never_fits_before_all():
    limits = book(rps=1, rpm=1, rpd=1)
    let_in(limits, 0, ask())
    assert names(limits.admit(0, ask())) == ["rpd", "rpm", "rps"]
    assert names(book(tpm=10, rpm=0).admit(0, ask()))[0] in {"tpm", "rpm"}


@pytest.mark.parametrize(
    ("scope", "other", "passes"),
    [
        (Scope.MODEL, ask(model="n"), True),
        (Scope.MODEL, ask(key="j"), False),
        (Scope.KEY, ask(key="j"), True),
        (Scope.KEY, ask(model="n"), False),
        (Scope.ACCOUNT, ask(model="n", key="j"), False),
    ],
)
def test_a_scope_says_who_shares_a_counter(scope, other, passes):
    limits = book(Rules(scope=scope), rpm=1)
    let_in(limits, 0, ask())
    assert isinstance(limits.admit(0, other), Admission) is passes


def test_five_a_second_are_judged_in_slices_or_sliding():
    sliced = book(rps=5)
    slid = book(Rules(second=WindowKind.SLIDING), rps=5)
    for limits in (sliced, slid):
        for _ in range(5):
            let_in(limits, 900_000, ask())
    let_in(sliced, 1_000_000, ask())
    assert names(slid.admit(1_000_000, ask())) == ["rps"]


def test_a_day_ends_at_midnight_in_its_zone_or_rolls():
    rolling, pacific = book(rpd=1), book(Rules(day="America/Los_Angeles"), rpd=1)
    for limits in (rolling, pacific):
        let_in(limits, 0, ask())
    assert rolling.admit(0, ask())[0].wait_us == 86_400 * S
    until_midnight_s = 86_400 - (EPOCH_S - 7 * 3600) % 86_400  # summer time: UTC − 7
    assert pacific.admit(0, ask())[0].wait_us == until_midnight_s * S


def test_a_limit_halves_and_returns_while_running_with_its_history():
    limits = book(rpm=4)
    for _ in range(3):
        let_in(limits, 0, ask())
    limits.change(0, Ceilings(rpm=2), limits.rules)
    assert names(limits.admit(0, ask())) == ["rpm"]
    limits.change(0, Ceilings(rpm=10), limits.rules)
    assert limits.readings(0, ask())[0].used == 4
    limits.change(0, Ceilings(), limits.rules)
    assert limits.readings(0, ask()) == []


@pytest.mark.parametrize("figure", [-1, 1.5, "60", True])
def test_a_figure_that_is_no_whole_number_is_refused_by_name(figure):
    with pytest.raises(ValueError, match="rpm"):
        changed_ceilings(Ceilings(), {"rpm": figure})


@pytest.mark.parametrize("rule", [{"window": "round"}, {"day": "Mars/Olympus"}, {"charge": "nothing"}])
def test_a_rule_that_does_not_exist_is_refused(rule):
    with pytest.raises(ValueError, match=next(iter(rule.values()))):
        changed_rules(Rules(), rule)


def test_minute_burst_counts_as_published():
    """Ten jobs at the full minute, charged 5,596 each, five a second: five pass, five wait for the next second."""
    limits = book(rps=5, rpm=300, tpm=300_000)
    outcomes = [isinstance(limits.admit(0, ask(1500, 4096)), Admission) for _ in range(10)]
    assert outcomes.count(True) == 5
    assert [(r.limit.name, r.used) for r in limits.readings(0, ask())] == [
        ("rps", 10),
        ("rpm", 10),
        ("tpm", 5 * 5596),
    ]
