"""A trial in a person's words: where it stands, what came back, and how many lanes it speaks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.usage_page.words import REASON_WORDS, a_duration, a_number, in_words
from relay_project.together.measure import Ended, Measured, Verdict, Why
from relay_project.together.trial import FEWEST, Report, Stage

_VERDICTS: Mapping[Verdict, Promise] = {
    Verdict.RIGHT: gettext_lazy("● right"),
    Verdict.MIXED: gettext_lazy("✕ another call's word"),
    Verdict.WRONG: gettext_lazy("▲ not its word"),
    Verdict.FAILED: gettext_lazy("✕ failed"),
    Verdict.NOT_SENT: gettext_lazy("▲ not sent"),
}
_TONES: Mapping[Verdict, str] = {
    Verdict.RIGHT: "ready",
    Verdict.MIXED: "wrong",
    Verdict.WRONG: "wait",
    Verdict.FAILED: "wrong",
    Verdict.NOT_SENT: "wait",
}


def stage_words(stage: Stage) -> str:
    if stage.alone:
        return _("One alone, to compare with… (%(seconds)s s)") % {"seconds": stage.passed_s}
    words = _("%(sent)s together: %(running)s running, %(waiting)s waiting, %(ended)s ended (%(seconds)s s)")
    return words % {
        "sent": stage.sent,
        "running": stage.running,
        "waiting": stage.waiting,
        "ended": stage.ended,
        "seconds": stage.passed_s,
    }


def report_words(report: Report) -> dict[str, Any]:
    """As it goes on the wire: headline, facts, one row for each call, what is proposed, what to keep in mind."""
    return {
        "ok": report.measured.proposal.lanes is not None,
        "headline": _headline(report),
        "facts": list(_facts(report.measured)),
        "calls": [_call(call, report.measured.alone_ms) for call in report.measured.calls],
        "proposal": _proposal(report),
        "notes": list(_notes(report)),
        "proposed_lanes": report.measured.proposal.lanes,
        "lanes": report.lanes,
    }


def _headline(report: Report) -> str:
    if report.lanes < FEWEST:
        return _("Nothing was sent: the lane profile lets only one call run at a time")
    if not report.sent:
        return _("One call alone did not get through, so none were sent together")
    right = sum(1 for call in report.measured.calls if call.verdict is Verdict.RIGHT)
    return _("%(right)s of %(sent)s came back right") % {"right": right, "sent": report.sent}


def _facts(measured: Measured) -> Iterator[str]:
    if measured.alone_ms is not None:
        yield _("one alone: %(time)s") % {"time": _time(measured.alone_ms)}
    if measured.together_ms is not None:
        yield _("all together: %(time)s") % {"time": _time(measured.together_ms)}
        yield _("at most %(peak)s ran at the same moment") % {"peak": measured.peak}
    if measured.gain is not None:
        yield _("%(gain)s × as fast as one after the other") % {"gain": a_number(measured.gain, 1)}


def _call(call: Ended, alone_ms: int | None) -> dict[str, str]:
    took_ms = call.took_ms
    against = f"{a_number(took_ms / alone_ms, 1)} ×" if took_ms is not None and alone_ms else "–"
    return {
        "word": call.word,
        "said": call.said.strip()[:80],
        "waited": _time(call.queue_ms),
        "took": "–" if took_ms is None else _time(took_ms),
        "against": against,
        "verdict": str(_VERDICTS[call.verdict]),
        "tone": _TONES[call.verdict],
        "why": in_words(REASON_WORDS, call.why) if call.why else "",
    }


def _proposal(report: Report) -> str:
    proposal, peak = report.measured.proposal, report.measured.peak
    lanes = proposal.lanes or 0
    figures = {"lanes": lanes, "peak": peak}
    if proposal.why is Why.MIXED:
        return _("Proposed: 1 lane. Answers got mixed up, so only one call may run at a time.")
    if proposal.why is Why.NO_GAIN:
        return _("Proposed: 1 lane. Together they took as long as one after the other: more lanes bring nothing.")
    if proposal.why is Why.QUEUES:
        return _("Proposed: %(lanes)s lanes. Of the %(peak)s that ran, so many are worked on at a time.") % figures
    if proposal.why is Why.REFUSED:
        return (
            ngettext(
                "Proposed: %(lanes)s lane. So many got through at the same moment; others were refused.",
                "Proposed: %(lanes)s lanes. So many got through at the same moment; others were refused.",
                lanes,
            )
            % figures
        )
    if proposal.why is Why.SCALES:
        return _("Proposed: %(lanes)s lanes, as many as were tried: none slowed the others. More was not measured.") % (
            figures
        )
    if proposal.why is Why.TOO_SHORT:
        return _("No number is proposed: one call alone is over too soon to tell. Try a slower model.")
    return _("No number is proposed: too little ran at the same moment to tell.") if report.sent else ""


def _time(milliseconds: int) -> str:
    return a_duration(milliseconds) if milliseconds >= 1000 else _("%(ms)s ms") % {"ms": milliseconds}


def _notes(report: Report) -> Iterator[str]:
    if report.asked.count > report.lanes:
        yield _(
            "You asked for %(count)s at once; the lane profile, the API keys and the relay let %(lanes)s run on this "
            "model. A trial never passes them by: raise the lanes for the experiment, then try again."
        ) % {"count": report.asked.count, "lanes": report.lanes}
    if report.sent and report.measured.peak < report.sent and report.measured.proposal.why is not Why.MIXED:
        yield _("Not all ran at the same moment: the profile's pace, others' calls or refusals kept them apart.")
    if report.others:
        yield ngettext(
            "%(count)s call of others ran on this provider meanwhile, so times may be longer than they would be.",
            "%(count)s calls of others ran on this provider meanwhile, so times may be longer than they would be.",
            report.others,
        ) % {"count": report.others}
