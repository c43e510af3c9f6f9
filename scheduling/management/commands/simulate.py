"""`manage.py simulate SCENARIO`: the planner."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scheduling.planner.figures import Figures, figures
from scheduling.planner.picture import Outcome, page
from scheduling.planner.progress import ProgressBar
from scheduling.planner.reading import Plan, Scenario, ScenarioError, bundled_names, find_scenario, read_scenario
from scheduling.planner.simulation import run
from scheduling.planner.table import table


class Command(BaseCommand):
    help = "What if: runs the scheduler's core on a virtual clock against a model of a provider (docs/planner.md)."
    requires_system_checks: list[str] = []  # a pure computation: works in a half-configured deployment too

    def add_arguments(self, parser: CommandParser) -> None:
        names = ", ".join(bundled_names())
        parser.add_argument("scenario", help=f"a TOML file, or one of: {names}")
        parser.add_argument("--json", action="store_true", help="print the rows as a JSON list instead of a table")
        parser.add_argument("--seed", type=int, help="draw everything anew from this number")
        parser.add_argument(
            "--out",
            type=Path,
            default=Path("var/plans"),
            help="folder for the picture, made if missing (default: var/plans)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            scenario = read_scenario(find_scenario(options["scenario"]), options["seed"])
        except ScenarioError as error:
            raise CommandError(str(error)) from error
        outcomes = self._outcomes(scenario)
        path = _write(options["out"] / f"{scenario.name}.html", page(scenario, outcomes))
        rows = [outcome.figures for outcome in outcomes]
        self.stdout.write(_as_json(rows) if options["json"] else f"{scenario.title}\n\n{table(rows)}")
        self.stderr.write(f"Picture: {path}")

    def _outcomes(self, scenario: Scenario) -> list[Outcome]:
        with ProgressBar(sys.stderr, parts=len(scenario.plans)) as bar:
            return [_outcome(plan, bar) for plan in scenario.plans]


def _outcome(plan: Plan, bar: ProgressBar) -> Outcome:
    bar.begin(plan.row)
    journal = run(plan, bar.show)
    return Outcome(figures(plan, journal), journal)


def _as_json(rows: list[Figures]) -> str:
    """One row a line, so that it reads well and greps well; together one JSON list."""
    lines = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]"


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--out: cannot write {path}: {error.strerror}") from error
    return path
