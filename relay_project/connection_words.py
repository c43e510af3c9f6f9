"""A check or test call in a person's words: where it stands while it waits, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from providers.contract import Refusal, RefusalKind
from providers.faults import Fault
from relay_project.connection_report import CheckReport
from relay_project.connection_run import Phase, Progress
from relay_project.rendering import words_of
from scheduling.core.outcomes import Reason
from scheduling.watching import Waiting

# Their end is a matter of arithmetic: "in N s", not "when the running ones end".
_TIMED = frozenset({Reason.PACE, Reason.TOKENS, Reason.CLOSED})

STAGES: Mapping[str, Promise] = {
    "capacity": _("in line, before the provider was asked"),
    "quota": _("used up"),
    "auth": _("signing in"),
    "network": _("reaching the provider"),
    "install": _("this installation of the relay"),
    "provider": _("the provider's answer"),
    "configuration": _("the relay's configuration"),
    "relay": _("the relay itself"),
    "request": _("the request"),
}

# What is wrong with the connection, where the catalogue speaks of a caller's request.
_KEY_REFUSED = _("The provider refused the API key: %(said)s")
_TEST_REFUSED: Mapping[RefusalKind, Promise] = {
    RefusalKind.AUTH: _KEY_REFUSED,
    RefusalKind.NOT_FOUND: _("The provider knows no model of this upstream name: %(said)s"),
}
_CHECK_REFUSED: Mapping[RefusalKind, Promise] = {
    RefusalKind.AUTH: _KEY_REFUSED,
    RefusalKind.NOT_FOUND: _("There is no model list at this base URL; is its path right? %(said)s"),
    RefusalKind.BAD_REQUEST: _("The provider did not understand the question; is the base URL right? %(said)s"),
}
_FAULTS: Mapping[str, Promise] = {
    Fault.CONNECTION_REFUSED: _("The connection was refused: nothing listens at the base URL."),
    Fault.DNS: _("The host name of the base URL could not be resolved."),
    Fault.UNREACHABLE: _("The host of the base URL could not be reached."),
    Fault.CERTIFICATE: _("The provider's TLS certificate is not valid for the base URL."),
    Fault.TLS: _("The TLS handshake with the provider failed."),
    Fault.REDIRECT: _("The provider redirects elsewhere; the base URL must be its own address."),
    Fault.DISCONNECTED: _("The provider closed the connection without an answer."),
    Fault.RESET: _("The provider reset the connection."),
    Fault.GARBLED: _("What answers at the base URL does not speak HTTP."),
    Fault.CONNECT_TIMEOUT: _("No connection within the time allowed."),
    Fault.FIRST_BYTE_TIMEOUT: _("No answer within the time allowed."),
    Fault.TOTAL_TIMEOUT: _("The answer took longer than the run limit."),
}
_NOT_SPOKEN = _("The relay does not speak the dialect “%(dialect)s” yet: no call can be sent to this provider.")


def phase_words(progress: Progress, language: str) -> str:
    """What is happening now."""
    if progress.waiting is not None:
        return waiting_words(progress.waiting, progress.told_us, language)
    with translation.override(language):
        if progress.phase is Phase.RUNNING:
            return gettext("Asking the provider… (%(seconds)d s)") % {"seconds": progress.phase_us // 1_000_000}
        return gettext("Starting…")


def waiting_words(waiting: Waiting, passed_us: int, language: str) -> str:
    """Where it stands, `passed_us` after it was told."""
    with translation.override(language):
        waited_s = (waiting.waited_us + passed_us) // 1_000_000
        if waiting.reason in _TIMED and waiting.predicted_in_us is not None:
            left_s = max(0, -(-(waiting.predicted_in_us - passed_us) // 1_000_000))
            return gettext("⏳ Waiting… next request in %(seconds)d s") % {"seconds": left_s}
        if waiting.reason == Reason.PAUSED:
            return gettext("Waiting… an administrator has paused this (%(seconds)d s gone)") % {"seconds": waited_s}
        words = gettext(
            "Waiting… starts when the running ones end "
            "(running %(running)d/%(limit)d · waiting %(waiting)d · %(seconds)d s gone)"
        )
        figures = {"running": waiting.running, "limit": waiting.limit, "waiting": waiting.waiting}
        return words % (figures | {"seconds": waited_s})


def message_of(report: CheckReport, language: str) -> str:
    """Why it failed, in a sentence; "" where it did not."""
    if report.ok:
        return ""
    with translation.override(language):
        if report.dialect:
            return str(_NOT_SPOKEN) % {"dialect": report.dialect}
        if report.refusal is not None and (own := _own_words(report.refusal, report.purpose)):
            return own
        return "" if report.problem is None else words_of(report.problem, language)


def _own_words(refusal: Refusal, purpose: str) -> str:
    if refusal.status is None:
        return str(_FAULTS.get(refusal.evidence.partition(":")[0], ""))
    template = (_TEST_REFUSED if purpose == "test" else _CHECK_REFUSED).get(refusal.kind)
    return "" if template is None else (str(template) % {"said": refusal.message}).strip(" :")


def headline_of(report: CheckReport, language: str) -> str:
    with translation.override(language):
        if report.purpose == "test":
            return gettext("The model answered") if report.ok else gettext("The test call did not get through")
        if report.ok:
            return gettext("Connected")
        if report.breaks_connection:
            return gettext("No connection")
        return gettext("Not checked this time; the connection's state stays as it was")


def facts_of(report: CheckReport, language: str) -> list[str]:
    """Short facts beside the message: how many models, how long, where it failed, when to come back."""
    with translation.override(language):
        facts = [*_found(report), *_durations(report)]
        if report.stage:
            facts.append(gettext("failed at: %(stage)s") % {"stage": STAGES[report.stage]})
        if report.retry_after_ms is not None:
            facts.append(gettext("worth another try in %(time)s") % {"time": _duration(report.retry_after_ms)})
        return facts


def _found(report: CheckReport) -> list[str]:
    if report.ok and report.purpose == "check":
        return [ngettext("%d model found", "%d models found", len(report.models)) % len(report.models)]
    prompt, answer = report.tokens
    if prompt is None or answer is None:
        return []
    return [gettext("%(prompt)d tokens in, %(answer)d out") % {"prompt": prompt, "answer": answer}]


def _durations(report: CheckReport) -> list[str]:
    facts = [gettext("%(time)s in line") % {"time": _duration(report.queue_ms)}] if report.queue_ms else []
    if report.run_ms:
        facts.append(gettext("took %(time)s") % {"time": _duration(report.run_ms)})
    return facts


def _duration(milliseconds: int) -> str:
    if milliseconds < 1_000:
        return gettext("%(milliseconds)d ms") % {"milliseconds": milliseconds}
    if milliseconds < 10_000:
        return gettext("%(seconds)s s") % {"seconds": f"{milliseconds / 1000:.1f}"}
    seconds = -(-milliseconds // 1000)
    if seconds < 60:
        return gettext("%(seconds)s s") % {"seconds": seconds}
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return gettext("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": seconds}
    hours, minutes = divmod(minutes, 60)
    return gettext("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}


def report_in_words(report: CheckReport, language: str) -> dict[str, Any]:
    """The report as it goes on the wire: its facts, and the words for them."""
    return {
        "ok": report.ok,
        "stage": report.stage,
        "code": report.code,
        "headline": headline_of(report, language),
        "message": message_of(report, language),
        "facts": facts_of(report, language),
        "queue_ms": report.queue_ms,
        "run_ms": report.run_ms,
        "models": list(report.models),
        "said": report.said,
        "retry_after_ms": report.retry_after_ms,
    }
