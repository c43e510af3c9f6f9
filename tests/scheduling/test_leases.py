"""A lease is given back once, in one step with its settling where that was not done before."""

from __future__ import annotations

import pytest

from scheduling.core.charge import Ending
from scheduling.core.outcomes import Granted
from scheduling.core.tickets import Actual
from scheduling.leases import Lease
from tests.scheduling.relays import rules

USED = Actual(prompt_tokens=7, completion_tokens=9)


@pytest.fixture
def verbs() -> list[tuple[str, Ending, Actual]]:
    return []


@pytest.fixture
def lease(verbs: list[tuple[str, Ending, Actual]]) -> Lease:
    grant = Granted("t1", "p", "p/m", None, rules(), granted_us=1, queue_us=0, pace_us=0, arrival=1)
    return Lease(
        grant,
        lambda _id, ending, actual: verbs.append(("settle", ending, actual)),
        lambda _id, ending, actual: verbs.append(("release", ending, actual)),
    )


def test_an_answer_that_ended_is_settled_and_given_back_in_one_verb(lease: Lease, verbs: list[object]) -> None:
    lease.release(USED, Ending.SERVED)
    lease.release()
    assert verbs == [("release", Ending.SERVED, USED)]


def test_what_was_settled_before_keeps_its_ending(lease: Lease, verbs: list[object]) -> None:
    lease.settle(ending=Ending.REFUSED)
    lease.release(USED, Ending.SERVED)
    assert verbs == [("settle", Ending.REFUSED, Actual()), ("release", Ending.REFUSED, USED)]


def test_what_is_merely_given_back_counts_as_failed(lease: Lease, verbs: list[object]) -> None:
    lease.release()
    assert verbs == [("release", Ending.FAILED, Actual())]
