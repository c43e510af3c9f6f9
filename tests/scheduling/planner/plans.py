"""Scenarios for tests: the bundled ones, run once for all tests, and small ones in a line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from scheduling.planner.figures import Figures, figures
from scheduling.planner.journal import Journal
from scheduling.planner.reading import Plan, find_scenario, read_scenario
from scheduling.planner.scenario import Crowd, Limit, Profile, Provider, Recorded, Retry, Work
from scheduling.planner.simulation import run


@dataclass(frozen=True)
class Ran:
    figures: Figures
    journal: Journal


@cache
def ran(scenario: str, row: str) -> Ran:
    return carry_out(plan_of(scenario, row))


def plan_of(scenario: str, row: str) -> Plan:
    return next(plan for plan in read_scenario(find_scenario(scenario)).plans if plan.row == row)


def carry_out(plan: Plan) -> Ran:
    journal = run(plan)
    return Ran(figures(plan, journal), journal)


def crowd(**changes: Any) -> Crowd:
    usual: dict[str, Any] = {"clients": 1, "prompt_tokens": [100], "answer_tokens": 10, "max_tokens": 100, "turn_s": 1}
    return Crowd(**{**usual, **changes})


def provider(*limits: Limit, **changes: Any) -> Provider:
    return Provider(limits=list(limits), **changes)


def requests(limit: int, window_s: float = 60, **changes: Any) -> Limit:
    return Limit(measure="requests", limit=limit, window_s=window_s, **changes)


def tokens(limit: int, window_s: float = 60, **changes: Any) -> Limit:
    return Limit(measure="tokens", limit=limit, window_s=window_s, **changes)


def plan(work: Work, upstream: Provider, **changes: Any) -> Plan:
    usual: dict[str, Any] = {
        "row": "row",
        "client": "",
        "goes": "direct",
        "seed": 1,
        "stops_s": 3_600.0,
        "provider": upstream,
        "work": work,
        "retry": Retry(first_s=1, growth=1, jitter=False, honours_retry_after=True),
        "profile": Profile(),
        "recorded": Recorded(),
    }
    return Plan(**{**usual, **changes})
