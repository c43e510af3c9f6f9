"""The work: jobs and their turns, drawn from the seed alone, so that every row of a scenario is given the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from scheduling.planner.drawing import draw_us, draw_whole, generator
from scheduling.planner.scenario import Arrival, Bursts, Crowd, Replay, Work
from scheduling.planner.timeline import in_us


@dataclass(frozen=True, slots=True)
class Turn:
    prompt_tokens: int
    answer_tokens: int
    first_token_us: int
    run_us: int


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    user: str
    at_us: int
    turns: tuple[Turn, ...]


def jobs_of(work: Work, seed: int) -> list[Job]:
    """In order of arrival."""
    if isinstance(work, Replay):
        arrivals = sorted(work.arrivals, key=lambda one: one.at_s)
        return [_again(number, arrival) for number, arrival in enumerate(arrivals)]
    rng = generator(seed, "work")
    return [
        Job(f"job-{number}", f"user:{number % work.users + 1}", at_us, _turns(work, rng))
        for number, at_us in enumerate(_arrivals(work))
    ]


def users_of(work: Work) -> list[str]:
    """Whom the relay shares fairly among, each once."""
    if isinstance(work, Replay):
        return list(dict.fromkeys(arrival.user for arrival in work.arrivals))
    return [f"user:{number + 1}" for number in range(work.users)]


def _again(number: int, arrival: Arrival) -> Job:
    turn = Turn(arrival.prompt_tokens, arrival.answer_tokens, in_us(arrival.first_token_s), in_us(arrival.turn_s))
    return Job(f"job-{number}", arrival.user, in_us(arrival.at_s), (turn,))


def _arrivals(work: Bursts | Crowd) -> Iterator[int]:
    if isinstance(work, Bursts):
        for burst in range(work.bursts):
            yield from [in_us(burst * work.every_s)] * work.jobs
    else:
        yield from _joining(work)


def _joining(work: Crowd) -> Iterator[int]:
    for number in range(work.clients):
        yield in_us(number * work.joining_s / work.clients)


def _turns(work: Bursts | Crowd, rng: Random) -> tuple[Turn, ...]:
    prompts = work.prompt_tokens
    count = len(prompts) if work.turns is None else work.turns
    return tuple(
        Turn(
            prompt_tokens=prompts[index % len(prompts)],
            answer_tokens=draw_whole(work.answer_tokens, rng),
            first_token_us=draw_us(work.first_token_s, rng),
            run_us=draw_us(work.turn_s, rng),
        )
        for index in range(count)
    )
