from __future__ import annotations

from tests.scheduling.planner.plans import ran


def test_who_gives_tokens_back_to_a_provider_that_does_not_is_refused() -> None:
    trapped = ran("refund-trap", "gives back").figures
    assert trapped.refusals > 0
    assert set(trapped.refused_by) == {"300,000 tokens / 60 s"}


def test_who_counts_as_the_provider_counts_is_not() -> None:
    ours = ran("refund-trap", "keeps").figures
    assert (ours.refusals, ours.rejections, ours.done) == (0, 0, 100)
