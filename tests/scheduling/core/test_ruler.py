"""The provider's ruler: what a request is charged at arrival, and what it becomes at its end."""

from __future__ import annotations

import pytest

from scheduling.core.charge import RULES, Ending
from scheduling.core.spec import ChargeRule, Measure, WindowSpec
from scheduling.core.tickets import Charge
from tests.scheduling.relays import Bench, S, provider, relay, rules, tpm

Rule = ChargeRule


def paced(*windows: WindowSpec, **changes) -> Bench:
    usual = {"lanes": 1000, "max_waiting": 500, "wait_timeout_us": 3600 * S}
    return Bench(relay(provider(of=rules(**{**usual, "windows": windows, **changes}))))


def used(bench: Bench, measure: Measure = Measure.TOTAL_TOKENS) -> int:
    axis = next(one for one in bench.core.state.providers["p"].axes.values() if one.measure is measure)
    return axis.window.used(bench.now)


# One request of 100 prompt tokens and a cap of 40; it came to 90 (20 of them cached) and 30.
FAILED = Ending.FAILED
ACTUAL = {"prompt_tokens": 90, "cached_prompt_tokens": 20, "completion_tokens": 30}
IN, OUT, TOTAL, REQ = Measure.INPUT_TOKENS, Measure.OUTPUT_TOKENS, Measure.TOTAL_TOKENS, Measure.REQUESTS

RULER = [
    # rule, measure, at arrival, served, refused, failed (measured), failed (unknown)
    (Rule.RESERVE_AND_SETTLE, TOTAL, 140, 120, 0, 120, 140),
    (Rule.RESERVE_AND_SETTLE, IN, 100, 90, 0, 90, 100),
    (Rule.RESERVE_AND_SETTLE, OUT, 40, 30, 0, 30, 40),
    (Rule.PROMPT_PLUS_MAX, TOTAL, 140, 140, 0, 140, 140),
    (Rule.MAX_OF, TOTAL, 100, 100, 0, 100, 100),
    (Rule.INPUT_OUTPUT, IN, 100, 70, 0, 70, 100),
    (Rule.INPUT_OUTPUT, OUT, 40, 30, 0, 30, 40),
    (Rule.INPUT_ONLY, IN, 100, 90, 0, 100, 100),
    (Rule.INPUT_ONLY, TOTAL, 100, 90, 0, 100, 100),
    *((rule, REQ, 1, 1, 1, 1, 1) for rule in Rule),
]


@pytest.mark.parametrize("ending", ["served", "refused", "failed", "unknown", "unsent"])
@pytest.mark.parametrize("row", RULER, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_providers_ruler(row: tuple, ending: str) -> None:
    rule, measure, arrival, served, refused, failed, unknown = row
    bench = paced(WindowSpec(measure, 1000), charge_rule=rule)
    ticket = bench.ask(charge=Charge(100, 40, cap_is_callers=True))
    assert used(bench, measure) == arrival
    expected = {"served": served, "refused": refused, "failed": failed, "unknown": unknown, "unsent": 0}[ending]
    kind = {"unknown": FAILED}.get(ending) or Ending(ending)
    bench.end(ticket, kind, **({} if ending in ("unknown", "unsent") else ACTUAL))
    assert used(bench, measure) == expected


def test_every_rule_has_a_row() -> None:
    assert set(RULES) == set(ChargeRule)


def test_measures_the_rule_does_not_charge_are_no_axis() -> None:
    bench = paced(WindowSpec(Measure.OUTPUT_TOKENS, 10), charge_rule=Rule.INPUT_ONLY)
    assert not bench.core.state.providers["p"].axes
    assert bench.tokens(100, 4000) in bench.running


def test_output_is_reserved_while_it_is_produced_and_charged_when_it_is_done() -> None:
    bench = paced(WindowSpec(OUT, 100), charge_rule=Rule.INPUT_OUTPUT)
    long, waiting = bench.tokens(5, 80), bench.tokens(5, 80)
    bench.pass_time(120)  # the reservation does not leave the window while the call runs
    assert waiting in bench.waiting
    bench.end(long, prompt_tokens=5, completion_tokens=60)
    bench.pass_time(59.9)
    assert waiting in bench.waiting
    bench.pass_time(0.1)
    assert waiting in bench.running


def test_settling_what_has_left_the_window_changes_nothing() -> None:
    bench = paced(tpm(1000))
    old = bench.tokens(100, 300)
    bench.pass_time(60)
    bench.tokens(10, 20)
    bench.end(old, prompt_tokens=5, completion_tokens=5)
    assert used(bench) == 30
