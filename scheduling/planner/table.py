"""Rows as a table for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduling.planner.figures import Figures

Column = tuple[str, Callable[[Figures], str]]


def table(rows: Sequence[Figures]) -> str:
    """Figures stand to the right, words to the left."""
    shown = columns_for(rows)
    cells = [[heading for heading, _ in shown]]
    cells += [[write(row) or "–" for _, write in shown] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(shown))]
    lines = ["  ".join(_aligned(line, widths)) for line in cells]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def columns_for(rows: Sequence[Figures]) -> list[Column]:
    """Those that say something in any row."""
    return [column for column in COLUMNS if any(column[1](row) not in ("", "0") for row in rows)]


def _aligned(line: list[str], widths: list[int]) -> list[str]:
    return [
        cell.ljust(width) if index < 2 else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]


def seconds(value: float | None) -> str:
    """At most three digits that mean something."""
    if value is None:
        return ""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def refused(row: Figures) -> str:
    if not row.refusals:
        return "0"
    return f"{row.refusals:,} ({row.refused_share:.1%})"


def _whole(value: int) -> str:
    return f"{value:,}"


COLUMNS: tuple[Column, ...] = (
    ("row", lambda row: row.row),
    ("client", lambda row: row.client),
    ("429s", refused),
    ("rejected", lambda row: _whole(row.rejections)),
    ("done", lambda row: f"{row.done} of {row.done + row.dead + row.unfinished}"),
    ("dead", lambda row: _whole(row.dead)),
    ("p50", lambda row: seconds(row.p50_s)),
    ("p95", lambda row: seconds(row.p95_s)),
    ("first token p50", lambda row: seconds(row.first_token_p50_s)),
    ("p99", lambda row: seconds(row.first_token_p99_s)),
    ("starts/s", lambda row: "" if row.starts_per_s is None else f"{row.starts_per_s:.2f}"),
    ("charged ÷ used", lambda row: f"{row.charged_tokens / row.billed_tokens:.2f}" if row.billed_tokens else ""),
)
