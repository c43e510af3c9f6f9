"""Now against what if: both replays, their figures side by side in words, and their pictures on one scale."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.utils.translation import gettext as _

from accounts.usage_page.words import REASON_WORDS, a_duration, a_number, in_words
from relay_project.what_if.arrivals import Arrivals
from relay_project.what_if.numbers import Numbers, only, with_numbers
from scheduling.core.spec import SchedulerSpec
from scheduling.planner.chart import chart, scales_of
from scheduling.planner.journal import Journal
from scheduling.planner.replay import Replayed, ReplayFigures, replay, replay_figures

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Some seconds of computing: one at a time is enough, the others wait for it in their own threads.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    now: str
    then: str
    is_part: bool = False  # of the line above it


@dataclass(frozen=True, slots=True)
class Comparison:
    lines: list[Line]
    now_svg: str
    then_svg: str


def compare(arrivals: Arrivals, spec: SchedulerSpec, provider: str, numbers: Numbers) -> Comparison:
    """Takes seconds for 20,000 calls, so call it in a thread. `arrivals` must hold a call."""
    if arrivals.since is None:
        raise ValueError("nothing to replay")
    wall_us = round((arrivals.since - _EPOCH).total_seconds() * 1_000_000)
    now_spec = only(spec, provider)
    with _ONE_AT_A_TIME:
        now = replay(arrivals.calls, now_spec, provider, wall_us)
        then = replay(arrivals.calls, with_numbers(now_spec, provider, numbers), provider, wall_us)
    return _comparison(now, then)


def _comparison(now: Replayed, then: Replayed) -> Comparison:
    figures = replay_figures(now), replay_figures(then)
    journals = [_to_draw(now.journal), _to_draw(then.journal)]
    scales = scales_of(journals)
    names = (_("now"), _("what if"))
    drawn = [
        chart(name, journal, scales, label=_in_words(name, one), full=_("full"))
        for name, journal, one in zip(names, journals, figures, strict=True)
    ]
    return Comparison(list(_lines(*figures)), *drawn)


def _to_draw(journal: Journal) -> Journal:
    """The picture's refused ones are those of the relay: the provider is not asked in a replay."""
    return replace(journal, refusals=journal.rejections)


def _in_words(name: str, figures: ReplayFigures) -> str:
    return _("%(name)s: %(asked)s came, %(started)s started, %(refused)s were refused") % {
        "name": name,
        "asked": a_number(figures.asked),
        "started": a_number(figures.started),
        "refused": a_number(sum(figures.refused.values())),
    }


def _lines(now: ReplayFigures, then: ReplayFigures) -> Iterator[Line]:
    yield Line(_("Came"), a_number(now.asked), a_number(then.asked))
    yield Line(_("Started"), a_number(now.started), a_number(then.started))
    yield Line(_("Refused"), a_number(sum(now.refused.values())), a_number(sum(then.refused.values())))
    for code in dict.fromkeys([*now.refused, *then.refused]):
        counts = a_number(now.refused.get(code, 0)), a_number(then.refused.get(code, 0))
        yield Line(in_words(REASON_WORDS, code), *counts, is_part=True)
    yield Line(_("Wait, half of them at most"), _wait(now.wait_p50_s), _wait(then.wait_p50_s))
    yield Line(_("Wait, 95 of 100 at most"), _wait(now.wait_p95_s), _wait(then.wait_p95_s))
    yield Line(_("Wait, 99 of 100 at most"), _wait(now.wait_p99_s), _wait(then.wait_p99_s))
    yield Line(_("Most running at once"), a_number(now.peak_running), a_number(then.peak_running))
    yield Line(_("Most waiting at once"), a_number(now.peak_waiting), a_number(then.peak_waiting))
    yield Line(_("Most started in a minute"), a_number(now.busiest_minute), a_number(then.busiest_minute))


def _wait(seconds: float | None) -> str:
    return "–" if seconds is None else a_duration(seconds * 1000)
