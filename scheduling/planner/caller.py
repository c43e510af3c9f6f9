"""One caller with one job: asks turn after turn, and when refused does what its kind of client does."""

from __future__ import annotations

from random import Random

from scheduling.planner.calls import Call, No, Road
from scheduling.planner.journal import Journal
from scheduling.planner.scenario import Retry, Work
from scheduling.planner.timeline import Timeline, in_us
from scheduling.planner.work import Job


class JobCaller:
    def __init__(self, job: Job, work: Work, road: Road, retrying: Retrying, journal: Journal) -> None:
        self._job = job
        self._work = work
        self._road = road
        self._retrying = retrying
        self._journal = journal
        self._turn = 0
        self._refused = 0  # times, in this turn
        self._asked_us = 0
        self._timeline = retrying.timeline
        self._timeline.at(job.at_us, self._ask)

    def on_first_token(self) -> None:
        self._journal.first_tokens_us.append(self._timeline.now_us - self._asked_us)

    def on_done(self) -> None:
        self._turn += 1
        if self._turn < len(self._job.turns):
            self._ask()
        else:
            self._journal.done(self._timeline.now_us, self._timeline.now_us - self._job.at_us)

    def on_no(self, no: No) -> None:
        wait_us = self._retrying.wait_us(self._refused, no)
        self._refused += 1
        if wait_us is None:
            self._journal.died(self._timeline.now_us, self._turn)
        else:
            self._timeline.after(wait_us, self._go)

    def _ask(self) -> None:
        self._refused = 0
        self._asked_us = self._timeline.now_us
        self._journal.asked_us.append(self._asked_us)
        self._go()

    def _go(self) -> None:
        turn = self._job.turns[self._turn]
        call = Call(
            id=f"{self._job.name}/{self._turn}/{self._refused}",
            user=self._job.user,
            prompt_tokens=turn.prompt_tokens,
            cap_tokens=self._work.max_tokens,
            answer_tokens=turn.answer_tokens,
            first_token_us=turn.first_token_us,
            run_us=turn.run_us,
            streams=self._work.streams,
        )
        self._road.go(call, self)


class Retrying:
    """How long a client waits before it tries again."""

    def __init__(self, policy: Retry, timeline: Timeline, rng: Random) -> None:
        self.timeline = timeline
        self._policy = policy
        self._rng = rng

    def wait_us(self, refused_before: int, no: No) -> int | None:
        """None = gives up."""
        policy = self._policy
        if policy.times is not None and refused_before >= policy.times:
            return None
        wait_s = min(policy.longest_s, policy.first_s * policy.growth ** min(refused_before, 64))
        wait_us = in_us(wait_s * self._rng.random() if policy.jitter else wait_s)
        if policy.honours_retry_after and no.retry_after_us is not None:
            return no.retry_after_us + wait_us
        return wait_us
