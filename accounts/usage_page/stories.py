"""One usage row as a person would tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import ClassCap, UsageRow
from accounts.outcomes import Outcome
from accounts.usage_page.words import (
    MEASURED_WORDS,
    OUTCOME_WORDS,
    REASON_WORDS,
    SHAPES,
    a_duration,
    a_number,
    in_words,
    money,
    tone_of,
)

NO_WAIT_MS = 50  # below that nobody has noticed


@dataclass(frozen=True, slots=True)
class AttemptLine:
    tone: str
    shape: str
    text: str


@dataclass(frozen=True, slots=True)
class Story:
    at: datetime
    asked: str  # role or model name
    answered: str  # the model a role led to; empty where they are the same
    tone: str
    shape: str
    outcome: str
    parts: list[str]  # waited · first token · tokens · measured
    why: str  # of an end that was not good
    attempts: list[AttemptLine]
    facts: list[tuple[str, str]]


def tell(row: UsageRow) -> Story:
    tone = tone_of(row.outcome)
    return Story(
        at=row.created_at,
        asked=row.role or row.model or _("unknown model"),
        answered=row.model if row.role else "",
        tone=tone,
        shape=SHAPES[tone],
        outcome=in_words(OUTCOME_WORDS, row.outcome),
        parts=[part for part in _parts(row) if part],
        why=in_words(REASON_WORDS, row.reason) if tone != "good" else "",
        attempts=[_attempt_line(attempt) for attempt in row.attempts] if _is_telling(row) else [],
        facts=[(name, value) for name, value in _facts(row) if value],
    )


def _parts(row: UsageRow) -> Iterable[str]:
    if row.refused_count > 1:
        yield ngettext("%(count)s request within a minute", "%(count)s requests within a minute", row.refused_count) % {
            "count": a_number(row.refused_count)
        }
    yield _waited(row)
    if row.ttft_ms is not None:
        yield _("first token %(time)s") % {"time": a_duration(row.ttft_ms)}
    yield _tokens_in(row)
    yield in_words(MEASURED_WORDS, row.measured)


def _waited(row: UsageRow) -> str:
    if row.queue_ms < NO_WAIT_MS:
        return _("no wait") if row.attempts else ""
    text = _("waited %(time)s (pace)") if row.pace_ms * 2 > row.queue_ms else _("waited %(time)s (line)")
    return text % {"time": a_duration(row.queue_ms)}


def _tokens_in(row: UsageRow) -> str:
    if row.completion_tokens is None:
        return _("ran %(time)s") % {"time": a_duration(row.run_ms)} if row.run_ms else ""
    text = ngettext("%(count)s token in %(time)s", "%(count)s tokens in %(time)s", row.completion_tokens)
    return text % {"count": a_number(row.completion_tokens), "time": a_duration(row.run_ms)}


def _is_telling(row: UsageRow) -> bool:
    """A single attempt that went well has nothing to add to the line above it."""
    return len(row.attempts) > 1 or any(tone_of(attempt.get("outcome", "")) != "good" for attempt in row.attempts)


def _attempt_line(attempt: Mapping[str, Any]) -> AttemptLine:
    outcome, reason = attempt.get("outcome", ""), attempt.get("reason", "")
    tone = tone_of(outcome)
    where = " · ".join(part for part in (attempt.get("model"), attempt.get("provider")) if part)
    what = _("%(outcome)s after %(time)s") % {
        "outcome": in_words(OUTCOME_WORDS, outcome),
        "time": a_duration(attempt.get("run_ms") or 0),
    }
    why = f": {in_words(REASON_WORDS, reason)}" if reason and tone != "good" else ""
    return AttemptLine(tone, SHAPES[tone], f"{where} · {what}{why}")


def _facts(row: UsageRow) -> Iterable[tuple[str, str]]:
    yield _("Request"), row.request_id
    yield _("Provider"), row.provider
    yield _("Class"), str(ClassCap(row.klass).label) if row.klass in ClassCap.values else row.klass
    yield _("Prompt tokens"), _count(row.prompt_tokens)
    yield _("of them cached"), _count(row.cached_prompt_tokens)
    yield _("Answer tokens"), _count(row.completion_tokens)
    yield _("of them reasoning"), _count(row.reasoning_tokens)
    yield _("Cost"), money(row.cost_microusd) if row.cost_microusd is not None else ""
    yield _("Personal token"), str(row.token) if row.token else ""
    yield _("Client"), row.client
    yield _("Status"), str(row.http_status or "") if row.outcome != Outcome.COMPLETED else ""


def _count(tokens: int | None) -> str:
    return "" if tokens is None else a_number(tokens)
