"""Figures as tables for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.figures import Column, Figures

NOT_APPLICABLE = "–"


def table(title: str, columns: Sequence[Column], rows: Mapping[str, Figures]) -> str:
    """Aligned text: the title, the heads, a line per row."""
    heads = [title, *(column.title for column in columns)]
    lines = [[name, *(cell(column, figures[column.name]) for column in columns)] for name, figures in rows.items()]
    widths = [max(len(line[place]) for line in [heads, *lines]) for place in range(len(heads))]
    return "\n".join(_aligned(line, widths) for line in [heads, *lines])


def cell(column: Column, figure: float | None) -> str:
    return NOT_APPLICABLE if figure is None else f"{figure / column.per:,.{column.digits}f}"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    name, *cells = line
    return "  ".join(
        [name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(cells, widths[1:], strict=True))]
    )
