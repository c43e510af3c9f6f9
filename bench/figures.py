"""From measurements to figures: medians over rounds, and what a variant adds to the direct way. Pure.

What is added is taken within a round, against the direct way of the same round, because a machine's speed drifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.plan import Heard, Measured, Spread

DIRECT = "direct"
Round = Mapping[str, Measured]  # by variant
Figures = dict[str, float | None]  # by name, the unit in it; None: does not apply


@dataclass(frozen=True, slots=True)
class Column:
    """A figure and how a table says it."""

    name: str
    title: str
    per: float = 1.0  # the figure is divided by this for the table
    digits: int = 0


WHOLE_COLUMNS = (
    Column("requests_per_s", "requests/s"),
    Column("p50_us", "p50 ms", 1000, 2),
    Column("p99_us", "p99 ms", 1000, 2),
    Column("added_p50_us", "added p50", 1000, 2),
    Column("added_p99_us", "added p99", 1000, 2),
    Column("cpu_us_per_request", "CPU ms/request", 1000, 2),
)
STREAM_COLUMNS = (
    Column("chunks_per_s", "chunks/s"),
    Column("first_token_p50_us", "first token p50", 1000, 2),
    Column("first_token_p99_us", "p99 ms", 1000, 2),
    Column("added_first_token_p50_us", "added p50", 1000, 2),
    Column("added_first_token_p99_us", "added p99", 1000, 2),
    Column("chunk_delay_p50_us", "chunk delay p50", 1000, 2),
    Column("chunk_delay_p99_us", "p99 ms", 1000, 2),
    Column("cpu_us_per_chunk", "CPU µs/chunk"),
)


def spread(values: Sequence[float]) -> Spread | None:
    """Median and 99th percentile (nearest rank); None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return Spread(_rank(ordered, 0.5), _rank(ordered, 0.99))


def _rank(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summarise(rounds: Sequence[Round], *, stream: bool) -> dict[str, Figures]:
    """Variant → its figures, each the median over the rounds."""
    of_one = stream_figures if stream else whole_figures
    in_all = [variant for variant in rounds[0] if all(variant in measured for measured in rounds)]
    return {
        variant: _medians([of_one(measured[variant], measured[DIRECT]) for measured in rounds]) for variant in in_all
    }


def whole_figures(measured: Measured, direct: Measured) -> Figures:
    heard, base = measured.heard, direct.heard
    return {
        "requests_per_s": heard.answers_per_s,
        "p50_us": heard.whole.p50_us,
        "p99_us": heard.whole.p99_us,
        "added_p50_us": _added(measured, direct, heard.whole.p50_us, base.whole.p50_us),
        "added_p99_us": _added(measured, direct, heard.whole.p99_us, base.whole.p99_us),
        "cpu_us_per_request": _each(measured.cpu_us, heard.answers),
    }


def stream_figures(measured: Measured, direct: Measured) -> Figures:
    first, base = _first_token(measured.heard), _first_token(direct.heard)
    delay = measured.heard.chunk_delay or Spread(0, 0)
    return {
        "chunks_per_s": measured.heard.chunks_per_s,
        "first_token_p50_us": first.p50_us,
        "first_token_p99_us": first.p99_us,
        "added_first_token_p50_us": _added(measured, direct, first.p50_us, base.p50_us),
        "added_first_token_p99_us": _added(measured, direct, first.p99_us, base.p99_us),
        "chunk_delay_p50_us": delay.p50_us,
        "chunk_delay_p99_us": delay.p99_us,
        "cpu_us_per_chunk": _each(measured.cpu_us, measured.heard.chunks),
    }


def _first_token(heard: Heard) -> Spread:
    return heard.first_token or Spread(0, 0)


def _added(measured: Measured, direct: Measured, mine_us: float, its_us: float) -> float | None:
    return None if measured is direct else mine_us - its_us


def _each(cpu_us: float | None, count: int) -> float | None:
    return None if cpu_us is None or not count else cpu_us / count


def _medians(rows: Sequence[Figures]) -> Figures:
    return {name: _median(row[name] for row in rows) for name in rows[0]}


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
