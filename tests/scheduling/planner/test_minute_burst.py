"""The published table, rows A to E, and our own two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.planner.figures import Figures
from tests.scheduling.planner.plans import Ran, carry_out, plan_of, ran

SECOND_SLICE = "5 requests / 1 s"


def row(name: str) -> Figures:
    return ran("minute-burst", name).figures


def test_a_quick_retry_kills_half_of_the_jobs_on_their_first_turn() -> None:
    a = row("A")
    assert (a.refusals, a.done, a.dead, a.dead_on_turn) == (200, 50, 50, {1: 50})
    assert a.p95_s is None


def test_a_job_is_billed_19_000_tokens_and_charged_37_980() -> None:
    a = row("A")
    assert (a.billed_tokens / a.done, a.charged_tokens / a.done) == (19_000, 37_980)


def test_patience_finishes_every_job_after_hundreds_of_refusals_and_in_minutes() -> None:
    b = row("B")
    assert b.refusals == pytest.approx(735, abs=75)
    assert (b.done, b.dead) == (100, 0)
    assert b.p95_s is not None
    assert b.p95_s > 240


def test_a_modest_cap_leaves_only_the_refusals_of_the_second() -> None:
    c = row("C")
    assert (c.done, set(c.refused_by)) == (100, {SECOND_SLICE})
    assert c.refusals == pytest.approx(50, abs=10)
    assert c.p95_s == pytest.approx(24, abs=1)


@pytest.mark.parametrize(("name", "p95_s"), [("D", 24), ("E", 246)])
def test_a_gate_that_counts_along_is_never_refused(name: str, p95_s: float) -> None:
    gated = row(name)
    assert (gated.refusals, gated.done) == (0, 100)
    assert gated.p95_s == pytest.approx(p95_s, rel=0.05)


@pytest.mark.parametrize(("name", "at_most"), [("F", 1.10), ("G", 1.15)])
def test_the_relay_is_never_refused_and_hardly_slower_than_the_gate(name: str, at_most: float) -> None:
    ours, gated = row(name), row("D")
    assert (ours.refusals, ours.rejections, ours.done) == (0, 0, 100)
    assert ours.p95_s is not None
    assert gated.p95_s is not None
    assert ours.p95_s <= gated.p95_s * at_most


def test_the_answer_cap_is_what_makes_the_difference() -> None:
    assert row("G").charged_tokens < 0.55 * row("E").charged_tokens


@pytest.mark.parametrize("name", ["F", "G"])
def test_it_holds_for_any_other_draw_too(name: str) -> None:
    for seed in (1, 2, 3):
        ours = carry_out(replace(plan_of("minute-burst", name), seed=seed)).figures
        assert (ours.refusals, ours.done) == (0, 100)


def test_the_same_seed_gives_the_same_journal() -> None:
    again: Ran = carry_out(plan_of("minute-burst", "B"))
    assert again.journal == ran("minute-burst", "B").journal
