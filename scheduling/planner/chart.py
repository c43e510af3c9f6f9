"""One row drawn as SVG: what was asked, started and refused over time, and how full the provider's windows were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from scheduling.planner.journal import Journal
from scheduling.planner.timeline import SECOND_US

BINS: Final = 240
WIDTH: Final = 960
LEFT: Final = 48
RIGHT: Final = 8
PLOT: Final = WIDTH - LEFT - RIGHT
STARTS_HEIGHT: Final = 150
FILL_HEIGHT: Final = 90
GAP: Final = 34
HEIGHT: Final = STARTS_HEIGHT + GAP + FILL_HEIGHT + 26
FILL_TOP: Final = STARTS_HEIGHT + GAP
FULL_AT: Final = 1.1
"""The fill panel reaches to 110 %."""


@dataclass(frozen=True, slots=True)
class Scales:
    """Shared by all rows of a scenario, so that their pictures can be laid side by side."""

    lasts_us: int
    most_per_s: float

    @property
    def bin_us(self) -> int:
        return max(1, -(-self.lasts_us // BINS))


def scales_of(journals: Sequence[Journal]) -> Scales:
    lasts_us = max((journal.ended_us for journal in journals), default=0) + 1
    scales = Scales(lasts_us, 1.0)
    rates = [rate for journal in journals for times in _series(journal) for rate in per_second(times, scales)]
    return Scales(lasts_us, max([*rates, 0.1]))


def per_second(times_us: Iterable[int], scales: Scales) -> list[float]:
    """How often a second, in each of the bins."""
    counts = [0] * BINS
    for at_us in times_us:
        if at_us < scales.lasts_us:
            counts[at_us // scales.bin_us] += 1
    return [count * SECOND_US / scales.bin_us for count in counts]


def peaks(fills: Iterable[tuple[int, list[float]]], limit: int, scales: Scales) -> list[float | None]:
    """The highest fill of one limit in each bin; None where nothing was looked at."""
    highest: list[float | None] = [None] * BINS
    for at_us, shares in fills:
        if at_us < scales.lasts_us:
            index = at_us // scales.bin_us
            highest[index] = max(shares[limit], highest[index] or 0.0)
    return highest


def chart(name: str, journal: Journal, scales: Scales, label: str = "", full: str = "full") -> str:
    """An SVG element. `label`: what it shows, for those who do not see it, in place of our own words."""
    label = label or _in_words(name, journal)
    asked, started, refused = (per_second(times, scales) for times in _series(journal))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">',
        *_frame(scales, full),
        f'<path class="started" d="{_area(started, scales)}"/>',
        f'<path class="refused" d="{_area(refused, scales)}"/>',
        f'<path class="asked" d="{_line(_to_starts(asked, scales))}"/>',
        *(
            f'<path class="fill fill-{index % 4}" d="{_line(_to_fill(peaks(journal.fills, index, scales)))}"/>'
            for index in range(len(journal.limits))
        ),
        "</svg>",
    ]
    return "\n".join(parts)


def _series(journal: Journal) -> tuple[list[int], list[int], list[int]]:
    return journal.asked_us, journal.started_us, [at_us for at_us, _ in journal.refusals]


def _in_words(name: str, journal: Journal) -> str:
    return (
        f"{name}: {len(journal.asked_us)} asked for, {len(journal.started_us)} started, "
        f"{len(journal.refusals)} refused by the provider"
    )


def _frame(scales: Scales, full: str) -> list[str]:
    """Axes with as few words as will do: the zero lines, the top of each panel, the full line, and the time."""
    lines = [
        f'<path class="axis" d="M{LEFT} {STARTS_HEIGHT}h{PLOT}M{LEFT} {FILL_TOP + FILL_HEIGHT}h{PLOT}"/>',
        f'<path class="full" d="M{LEFT} {_fill_y(1.0):.1f}h{PLOT}"/>',
        _label(LEFT - 6, 12, f"{scales.most_per_s:.3g}/s", "end"),
        _label(LEFT - 6, STARTS_HEIGHT, "0", "end"),
        _label(LEFT - 6, _fill_y(1.0) + 4, full, "end"),
        _label(LEFT - 6, FILL_TOP + FILL_HEIGHT, "0", "end"),
    ]
    for at_s in _ticks(scales.lasts_us / SECOND_US):
        x = LEFT + PLOT * at_s * SECOND_US / (scales.bin_us * BINS)
        lines.append(f'<path class="tick" d="M{x:.1f} 0V{STARTS_HEIGHT}M{x:.1f} {FILL_TOP}v{FILL_HEIGHT}"/>')
        lines.append(_label(x, HEIGHT - 10, _time(at_s), "middle"))
    return lines


def _ticks(lasts_s: float) -> list[int]:
    """At most ten round moments."""
    steps = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600)
    step = next((step for step in steps if lasts_s / step <= 10), 7_200)
    return list(range(0, int(lasts_s * 0.98), step))


def _time(at_s: int) -> str:
    if at_s and at_s % 3_600 == 0:
        return f"{at_s // 3_600} h"
    return f"{at_s // 60} min" if at_s and at_s % 60 == 0 else f"{at_s} s"


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _x(index: int) -> float:
    return LEFT + PLOT * index / BINS


def _fill_y(share: float) -> float:
    return FILL_TOP + FILL_HEIGHT * (1 - min(share, FULL_AT) / FULL_AT)


def _to_starts(rates: list[float], scales: Scales) -> list[float | None]:
    return [STARTS_HEIGHT * (1 - rate / scales.most_per_s) for rate in rates]


def _to_fill(shares: list[float | None]) -> list[float | None]:
    return [None if share is None else _fill_y(share) for share in shares]


def _line(heights: Sequence[float | None]) -> str:
    """A stepped line, interrupted where there is no height."""
    steps = []
    pen = "M"
    for index, y in enumerate(heights):
        if y is None:
            pen = "M"
            continue
        steps.append(f"{pen}{_x(index):.1f} {y:.1f}H{_x(index + 1):.1f}")
        pen = "L"
    return "".join(steps)


def _area(rates: list[float], scales: Scales) -> str:
    """Bars on the zero line, one for each bin in which something happened."""
    heights = _to_starts(rates, scales)
    bars = [
        f"M{_x(index):.1f} {STARTS_HEIGHT}V{y:.1f}H{_x(index + 1):.1f}V{STARTS_HEIGHT}z"
        for index, y in enumerate(heights)
        if y is not None and rates[index]
    ]
    return "".join(bars)
