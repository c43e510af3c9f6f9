"""A plan, run from its beginning to its end on a timeline of its own."""

from __future__ import annotations

from collections.abc import Callable

from scheduling.core.answers import AnswerLengths
from scheduling.planner.caller import JobCaller, Retrying
from scheduling.planner.calls import Road
from scheduling.planner.drawing import draw_whole, generator
from scheduling.planner.journal import Journal
from scheduling.planner.profile import MODEL, lane_rules
from scheduling.planner.reading import Plan
from scheduling.planner.relayed import Relayed
from scheduling.planner.roads import Gate
from scheduling.planner.timeline import SECOND_US, Timeline, in_us
from scheduling.planner.upstream import Upstream
from scheduling.planner.work import jobs_of, users_of

Progress = Callable[[float], None]
"""Called with the share of turns begun, 0 to 1."""


def run(plan: Plan, progress: Progress | None = None) -> Journal:
    """What happens if the plan is carried out. The same plan gives the same journal."""
    timeline, journal = Timeline(), Journal()
    upstream = Upstream(plan.provider, timeline, journal, generator(plan.seed, "provider"))
    road = _road(plan, upstream, timeline, journal)
    retrying = Retrying(plan.retry, timeline, generator(plan.seed, "retries"))
    jobs = jobs_of(plan.work, plan.seed)
    for job in jobs:
        JobCaller(job, plan.work, road, retrying, journal)
    journal.jobs = len(jobs)
    turns = sum(len(job.turns) for job in jobs)
    while timeline.advance(timeline.now_us + SECOND_US) and timeline.now_us < in_us(plan.stops_s):
        journal.filled(timeline.now_us, upstream.fills())
        if progress is not None:
            progress(len(journal.asked_us) / turns)
    return journal


def _road(plan: Plan, upstream: Upstream, timeline: Timeline, journal: Journal) -> Road:
    if plan.goes == "direct":
        return upstream
    if plan.goes == "gate":
        return Gate(plan.provider, timeline, upstream)
    rules = lane_rules(plan.profile, plan.provider)
    return Relayed(rules, upstream, _recorded(plan), timeline, journal)


def _recorded(plan: Plan) -> AnswerLengths:
    """The answers the relay has seen before."""
    answers, rng = AnswerLengths(), generator(plan.seed, "recorded")
    for user in users_of(plan.work):
        for _ in range(plan.recorded.count):
            answers.record(MODEL, user, draw_whole(plan.recorded.tokens, rng))
    return answers
