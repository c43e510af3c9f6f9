from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from scheduling.planner.figures import Figures
from tests.scheduling.planner.plans import carry_out, plan_of, ran

LIMIT_PER_S = 60


def row(name: str) -> Figures:
    return ran("stream-crowd", name).figures


def test_plain_retry_is_refused_a_fifth_of_the_time() -> None:
    assert 0.18 <= row("retry").refused_share <= 0.20
    assert row("retry").done == 100


def test_the_relay_is_never_refused_and_four_times_sooner() -> None:
    ours, plain = row("relay"), row("retry")
    assert (ours.refusals, ours.rejections, ours.done) == (0, 0, 100)
    assert ours.first_token_p99_s is not None
    assert plain.first_token_p99_s is not None
    assert ours.first_token_p99_s <= 0.400
    assert plain.first_token_p99_s >= 4 * ours.first_token_p99_s


def test_with_shorter_turns_plain_retry_waits_seconds_and_ours_does_not() -> None:
    ours, plain = row("relay, short"), row("retry, short")
    assert plain.first_token_p99_s == pytest.approx(4, abs=0.5)
    assert (ours.refusals, ours.done) == (0, 100)
    assert ours.first_token_p99_s is not None
    assert ours.first_token_p99_s <= 0.700


@pytest.mark.parametrize("name", ["relay", "relay, short"])
def test_nearly_all_of_the_limit_is_used(name: str) -> None:
    assert row(name).starts_per_s is not None
    assert row(name).starts_per_s >= 0.96 * LIMIT_PER_S  # type: ignore[operator]


@pytest.mark.parametrize(("guard_ms", "refused"), [(0, True), (30, False)])
def test_the_guard_is_what_makes_up_for_the_wire(guard_ms: int, refused: bool) -> None:
    usual = plan_of("stream-crowd", "relay")
    plan = replace(
        usual,
        provider=structs.replace(usual.provider, wire_s=(0.0, 0.02)),
        work=structs.replace(usual.work, turns=10),
        profile=structs.replace(usual.profile, guard_ms=guard_ms),
    )
    assert (carry_out(plan).figures.refusals > 0) is refused
