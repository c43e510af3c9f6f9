"""A scenario's result as one HTML file: the figures and, for each row, a picture. Nothing is loaded from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from scheduling.planner.chart import chart, scales_of
from scheduling.planner.figures import Figures
from scheduling.planner.journal import Journal
from scheduling.planner.reading import Scenario
from scheduling.planner.table import columns_for

STYLE = Path(__file__).parent / "picture.css"


@dataclass(frozen=True, slots=True)
class Outcome:
    figures: Figures
    journal: Journal


def page(scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    scales = scales_of([outcome.journal for outcome in outcomes])
    pictures = [_figure(outcome, chart(outcome.figures.row, outcome.journal, scales)) for outcome in outcomes]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(scenario.title)}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body>",
            f"<h1>{escape(scenario.title)}</h1>",
            f'<p class="soft">Scenario {escape(scenario.name)}, seed {scenario.seed}</p>',
            f"<p>{escape(scenario.about.strip())}</p>",
            _table([outcome.figures for outcome in outcomes]),
            *pictures,
            "</body></html>\n",
        ]
    )


def _table(rows: Sequence[Figures]) -> str:
    shown = columns_for(rows)
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading, _ in shown)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(write(row) or '–')}</td>" for _, write in shown) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(outcome: Outcome, svg: str) -> str:
    figures = outcome.figures
    return (
        f"<h2>{escape(figures.row)} · {escape(figures.client)}</h2>\n"
        f"<figure>{svg}\n<figcaption>{_legend(outcome.journal.limits)}</figcaption></figure>"
    )


def _legend(limits: Sequence[str]) -> str:
    fills = [(f"fill fill-{index % 4}", f"used of {name}, at its fullest") for index, name in enumerate(limits)]
    keys = [("asked", "asked for"), ("started", "started"), ("refused", "refused by the provider"), *fills]
    return "".join(_key(kind, text) for kind, text in keys)


def _key(kind: str, text: str) -> str:
    shape = "M0 3h16v6H0z" if kind in ("started", "refused") else "M0 6h16"
    sample = f'<svg viewBox="0 0 16 12" aria-hidden="true"><path class="{kind}" d="{shape}"/></svg>'
    return f'<span class="key">{sample} {escape(text)}</span>'
