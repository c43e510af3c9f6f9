"""From measurements to figures and tables."""

from __future__ import annotations

from typing import Any

import pytest

from bench.figures import DIRECT, STREAM_COLUMNS, WHOLE_COLUMNS, spread, summarise
from bench.plan import Heard, Measured, Spread
from bench.table import table


def heard(p50_us: float, **changes: Any) -> Heard:
    whole = Spread(p50_us, 2 * p50_us)
    told = {"answers": 100, "answers_per_s": 50.0, "chunks": 0, "chunks_per_s": 0.0, "whole": whole}
    return Heard(**(told | changes))


def one_round(direct_us: float, relay_us: float, cpu_us: float) -> dict[str, Measured]:
    return {DIRECT: Measured(heard(direct_us), None), "relay": Measured(heard(relay_us), cpu_us)}


def test_a_spread_is_median_and_99th_percentile() -> None:
    assert spread(range(1, 1001)) == Spread(501, 991)
    assert spread([7.0]) == Spread(7.0, 7.0)
    assert spread([]) is None


def test_what_is_added_is_taken_within_a_round_because_the_machine_drifts() -> None:
    slow_moment = one_round(1000, 1400, 30_000)
    rounds = [one_round(100, 500, 30_000), slow_moment, one_round(110, 520, 36_000)]
    figures = summarise(rounds, stream=False)
    assert figures["relay"]["added_p50_us"] == 400
    assert figures["relay"]["p50_us"] == 520
    assert figures["relay"]["cpu_us_per_request"] == 300


def test_a_variant_that_failed_in_one_round_has_no_figures() -> None:
    rounds = [one_round(100, 500, 30_000), {DIRECT: Measured(heard(100), None)}]
    assert list(summarise(rounds, stream=False)) == [DIRECT]


def test_the_direct_way_adds_nothing_and_has_no_server() -> None:
    direct = summarise([one_round(100, 500, 30_000)], stream=False)[DIRECT]
    assert direct["requests_per_s"] == 50
    assert direct["added_p50_us"] is direct["cpu_us_per_request"] is None


def test_streams_are_judged_by_first_token_and_by_chunk() -> None:
    told = {"chunks": 2000, "chunks_per_s": 900.0, "first_token": Spread(300, 900), "chunk_delay": Spread(40, 80)}
    direct = Measured(heard(1, **(told | {"first_token": Spread(100, 200)})), None)
    figures = summarise([{DIRECT: direct, "relay": Measured(heard(1, **told), 100_000)}], stream=True)["relay"]
    assert figures["added_first_token_p50_us"] == 200
    assert figures["added_first_token_p99_us"] == 700
    assert (figures["chunk_delay_p50_us"], figures["chunks_per_s"]) == (40, 900)
    assert figures["cpu_us_per_chunk"] == 50


@pytest.mark.parametrize(("columns", "stream"), [(WHOLE_COLUMNS, False), (STREAM_COLUMNS, True)])
def test_every_figure_has_its_column(columns: Any, stream: bool) -> None:
    figures = summarise([one_round(1, 2, 3)], stream=stream)["relay"]
    assert {column.name for column in columns} == set(figures)


def test_a_table_is_aligned_and_says_what_does_not_apply() -> None:
    lines = table("16 at once", WHOLE_COLUMNS, summarise([one_round(1000, 1_500_000, 30_000)], stream=False)).split(
        "\n"
    )
    assert [line.split()[0] for line in lines] == ["16", "direct", "relay"]
    assert len({len(line) for line in lines}) == 1
    assert lines[1].endswith("–")
    assert "1,500.00" in lines[2]
    assert lines[2].endswith("0.30")
