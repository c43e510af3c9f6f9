"""From a journal to the figures of a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scheduling.planner.journal import Journal
from scheduling.planner.reading import Plan
from scheduling.planner.timeline import SECOND_US


@dataclass(frozen=True, slots=True)
class Figures:
    """One row. Field names are those of `--json`; a time is None where it cannot be told."""

    row: str
    client: str
    refusals: int  # the provider's
    refused_share: float  # of all that arrived there
    refused_by: dict[str, int]  # limit → times
    rejections: int  # the relay's own
    done: int  # jobs
    dead: int
    unfinished: int
    dead_on_turn: dict[int, int]  # turn, from 1 → jobs
    p50_s: float | None  # of a job; a dead or unfinished one counts as endless
    p95_s: float | None
    first_token_p50_s: float | None  # from asking, all waiting and refusals included; streams only
    first_token_p99_s: float | None
    starts: int
    starts_per_s: float | None  # between a tenth and nine tenths of the starts
    charged_tokens: int  # by the provider, at arrival
    billed_tokens: int  # prompts and answers
    lasted_s: float


def figures(plan: Plan, journal: Journal) -> Figures:
    done, dead = len(journal.jobs_us), len(journal.dead_us)
    refusals, starts = len(journal.refusals), len(journal.started_us)
    first_tokens = len(journal.first_tokens_us)
    return Figures(
        row=plan.row,
        client=plan.client,
        refusals=refusals,
        refused_share=round(refusals / max(1, refusals + starts), 4),
        refused_by=dict(Counter(name for _, name in journal.refusals)),
        rejections=len(journal.rejections),
        done=done,
        dead=dead,
        unfinished=journal.jobs - done - dead,
        dead_on_turn=dict(sorted(Counter(turn + 1 for turn in journal.dead_turns).items())),
        p50_s=percentile_s(journal.jobs_us, 50, of=journal.jobs),
        p95_s=percentile_s(journal.jobs_us, 95, of=journal.jobs),
        first_token_p50_s=percentile_s(journal.first_tokens_us, 50, of=first_tokens),
        first_token_p99_s=percentile_s(journal.first_tokens_us, 99, of=first_tokens),
        starts=starts,
        starts_per_s=steady_rate_per_s(journal.started_us),
        charged_tokens=journal.charged_tokens,
        billed_tokens=journal.billed_tokens,
        lasted_s=_seconds(journal.ended_us),
    )


def percentile_s(values_us: Sequence[int], percent: int, *, of: int) -> float | None:
    """Nearest rank among `of` values, of which those not given are endless; None = endless, or nothing to tell of."""
    rank = -(-of * percent // 100)
    if not 0 < rank <= len(values_us):
        return None
    return _seconds(sorted(values_us)[rank - 1])


def steady_rate_per_s(started_us: Sequence[int]) -> float | None:
    """Starts a second without the first and the last tenth."""
    first, last = len(started_us) // 10, len(started_us) * 9 // 10
    if last >= len(started_us) or started_us[last] <= started_us[first]:
        return None
    return round((last - first) * SECOND_US / (started_us[last] - started_us[first]), 2)


def _seconds(us: int) -> float:
    return round(us / SECOND_US, 3)
