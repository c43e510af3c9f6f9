"""What a trial says, as tables: verdicts, the gain, and how many lanes it speaks for."""

from __future__ import annotations

import pytest

from relay_project.together.measure import Ended, Proposal, Verdict, Why, judge, measure, peak_of
from relay_project.together.sending import code_words

SECOND_US = 1_000_000
R, M, W, F, N = Verdict.RIGHT, Verdict.MIXED, Verdict.WRONG, Verdict.FAILED, Verdict.NOT_SENT


def call(start_s: float, took_s: float, verdict: Verdict = R) -> Ended:
    started_us = round(start_s * SECOND_US)
    return Ended("w", verdict, started_us=started_us, ended_us=started_us + round(took_s * SECOND_US))


def never_sent() -> Ended:
    return Ended("w", N, why="provider_queue_full")


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("HERON-1234", R),
        ("The code word is: heron 1234.", R),
        ("**Heron–1234**", R),
        ("OSPREY-5678", M),
        ("HERON-1234, OSPREY-5678", M),
        ("HERON-1235", W),
        ("I cannot say that", W),
        ("", W),
    ],
)
def test_an_answer_is_judged_by_its_code_word(said: str, verdict: Verdict) -> None:
    assert judge("HERON-1234", said, ["HERON-1234", "OSPREY-5678"]) is verdict


def test_no_code_word_is_like_another_or_part_of_it() -> None:
    words = code_words(22)
    assert len(set(words)) == 22
    assert all(judge(word, word, words) is R for word in words)


@pytest.mark.parametrize(
    ("calls", "peak"),
    [
        ([], 0),
        ([call(0, 1)], 1),
        ([call(0, 1), call(1, 1)], 1),
        ([call(0, 2), call(1, 2), call(1.5, 0.1)], 3),
        ([call(0, 1), never_sent()], 1),
    ],
)
def test_the_peak_is_what_ran_at_the_same_moment(calls: list[Ended], peak: int) -> None:
    assert peak_of(calls) == peak


def at_once(*took_s: float) -> list[Ended]:
    return [call(0, seconds) for seconds in took_s]


@pytest.mark.parametrize(
    ("alone_ms", "calls", "proposal"),
    [
        # nothing slows down: as many as were tried
        (1000, at_once(1, 1, 1.1, 1), Proposal(4, Why.SCALES)),
        (100, at_once(0.2, 0.2, 0.2), Proposal(3, Why.SCALES)),
        (99, at_once(0.2, 0.2, 0.2), Proposal(None, Why.TOO_SHORT)),
        (99, [*at_once(0.1, 0.1), call(0, 0.1, M)], Proposal(1, Why.MIXED)),
        # one at a time: 1, 2, 3, 4 seconds
        (1000, at_once(1, 2, 3, 4), Proposal(1, Why.NO_GAIN)),
        # three at a time, eight tried
        (1000, at_once(1, 1, 1, 2, 2, 2, 3, 3), Proposal(3, Why.QUEUES)),
        # strength shared among all: four times as slow for eight gains as much as two at a time
        (1000, at_once(*[4] * 8), Proposal(2, Why.QUEUES)),
        (1000, at_once(*[8] * 8), Proposal(1, Why.NO_GAIN)),
        # one answer in another's place outweighs any gain
        (1000, [*at_once(1, 1, 1), call(0, 1, M)], Proposal(1, Why.MIXED)),
        # a word that is not its own says nothing about lanes
        (1000, [*at_once(1, 1), call(0, 1, W)], Proposal(3, Why.SCALES)),
        # the provider refused some: so many as came through
        (1000, [*at_once(1, 1, 1), call(0, 0.1, F), call(0, 0.1, F)], Proposal(3, Why.REFUSED)),
        (1000, [call(0, 1), call(0, 0.1, F)], Proposal(1, Why.REFUSED)),
        (1000, [call(0, 0.1, F), call(0, 0.1, F)], Proposal(1, Why.REFUSED)),
        # refused some, and the others hindered each other
        (1000, [*at_once(1, 2, 3, 4), call(0, 0.1, F)], Proposal(1, Why.NO_GAIN)),
        # the pace kept them apart: no two at the same moment, so nothing was measured
        (1000, [call(0, 1), call(2, 1), call(4, 1)], Proposal(None, Why.UNKNOWN)),
        # two of four at a time: nothing is said about more than two
        (1000, [call(0, 1), call(0, 1), call(1, 1), call(1, 1)], Proposal(2, Why.SCALES)),
        # our own no is nobody's limit but ours
        (1000, [*at_once(1, 1), never_sent(), never_sent()], Proposal(2, Why.SCALES)),
        (1000, [never_sent()], Proposal(None, Why.UNKNOWN)),
        (None, at_once(1, 1), Proposal(None, Why.UNKNOWN)),
        (None, [], Proposal(None, Why.UNKNOWN)),
    ],
)
def test_a_number_of_lanes_is_proposed_from_what_was_measured(
    alone_ms: int | None, calls: list[Ended], proposal: Proposal
) -> None:
    assert measure(alone_ms, calls).proposal == proposal


def test_the_gain_is_against_one_after_the_other() -> None:
    measured = measure(1000, at_once(1, 1, 1, 2))
    assert (measured.together_ms, measured.gain) == (2000, 2.0)


def test_what_failed_gains_nothing() -> None:
    measured = measure(1000, [*at_once(1, 1), call(0, 0.1, F)])
    assert (measured.together_ms, measured.gain, measured.peak) == (1000, 2.0, 2)


def test_a_proposal_never_exceeds_what_ran() -> None:
    for tried in range(2, 21):
        proposed = measure(1000, at_once(*[1] * tried)).proposal.lanes
        assert proposed == tried
