"""Gathers what an answer offers for a judgement: codes, status, words, limits told, windows named."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from providers.contract import RefusalScope
from providers.quota_headers import LimitReading, plan_window, read_lowered
from providers.reading.agents import Outcome, outcome_of
from providers.reading.answer import ProviderAnswer
from providers.reading.documents import Document, Form, Parsed, documents_within, parse
from providers.reading.rows import Table
from providers.reading.shapes import Error, error_in
from providers.reading.windows import longest_window
from providers.retry_after import Clock, parse_epoch, parse_http_date, parse_number, usable_wait

_CODE_MEMBERS = ("reason", "limit_source", "code", "error_code", "error_type", "type", "status", "__type")
_TEXT_MEMBERS = ("raw", "details", "hint")
_STATUS_MEMBERS = ("status", "code", "statusCode", "status_code")
_LIMIT_MEMBERS = ("quotaId", "quotaMetric", "quota_limit", "quota_metric")
_STATUS_IN_WORDS = re.compile(r"\b(?:status|api error|rejected|http)\W{0,4}(?:code\W{0,3})?([45]\d\d)\b", re.I)
_MAX_NODES, _MAX_DEPTH = 500, 8
_MAX_WORDS = 8_000
_NOTICE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one answer says, sorted by how far it is to be trusted."""

    form: Form
    structured: bool  # an error object was found: the API itself spoke, not a proxy before it
    status: int | None  # HTTP, or the status that the error itself names
    failed: bool  # an error was found, or the status or exit code says that there is one
    bare_words: bool  # an agent's or a socket's text of which nothing says whether it is an error
    members: tuple[tuple[str, Any], ...]  # every scalar of the error, as (name, value)
    codes: tuple[str, ...]  # as written, the most telling first
    words: str  # the provider's message and what belongs to it; never model prose
    message: str
    headers: Mapping[str, str]  # names in lower case
    readings: tuple[LimitReading, ...]
    clock: Clock

    @property
    def code_set(self) -> frozenset[str]:
        return frozenset(code.lower() for code in self.codes)

    @property
    def limit_names(self) -> tuple[str, ...]:
        """The provider's own names of the violated limits."""
        return tuple(str(value) for name, value in self.members if name in _LIMIT_MEMBERS)

    @property
    def window(self) -> RefusalScope | None:
        """The longest window among the named limits, else among the words."""
        named = longest_window(" ".join(self.limit_names)) if self.limit_names else None
        return named or longest_window(self.words)

    @property
    def refused_windows(self) -> tuple[LimitReading, ...]:
        return tuple(reading for reading in self.readings if reading.rejected)


def gather(answer: ProviderAnswer, table: Table, now: datetime | None) -> Evidence:
    """Read everything that the answer holds. Never raises, whatever the answer is made of."""
    parsed = parse(answer.body)
    status = _status(answer, table)
    failed = (status is not None and status >= 400) or _exited_badly(answer)
    outcome = _outcome(parsed, table, failed=failed)
    members = tuple(_scalars(outcome.error)) if outcome.error else ()
    headers = _headers(answer, outcome.error)
    clock = Clock(now, parse_http_date(headers.get("date", "")))
    words = _words(parsed, outcome.error, members)
    return Evidence(
        form=parsed.form,
        structured=outcome.error is not None,
        failed=not outcome.succeeded and (failed or outcome.error is not None),
        bare_words=_are_bare(words, outcome, status, answer.exit_code),
        status=_effective_status(status, outcome.error, words if table.is_agent else ""),
        members=members,
        codes=tuple(_codes(table, headers, members)),
        words=words,
        message=str(outcome.error.get("message") or "") if outcome.error else parsed.text,
        headers=headers,
        readings=(*read_lowered(headers, table.header_windows, clock), *_plan_events(parsed, clock)),
        clock=clock,
    )


def _are_bare(words: str, outcome: Outcome, status: int | None, exit_code: int | None) -> bool:
    """A notice is a short line; anything longer without a sign of failure is taken for model prose."""
    untold = status is None and exit_code is None and outcome.error is None and not outcome.succeeded
    return untold and 0 < len(words) <= _NOTICE_CHARS


def _exited_badly(answer: ProviderAnswer) -> bool:
    return isinstance(answer.exit_code, int) and answer.exit_code != 0


def _outcome(parsed: Parsed, table: Table, *, failed: bool) -> Outcome:
    """The error among the documents; in text that is known to report a failure, JSON is looked for too."""
    within = documents_within(parsed.text) if failed else ()
    if table.is_agent:
        outcome = outcome_of(parsed.documents)
        return outcome if outcome.succeeded or outcome.error or not within else outcome_of(within)
    errors = (error_in(document, failed=failed) for document in (*parsed.documents, *within))
    return Outcome(False, next((error for error in errors if error is not None), None))


def _status(answer: ProviderAnswer, table: Table) -> int | None:
    status = answer.status
    if isinstance(status, int) and not isinstance(status, bool):
        return status
    return table.exit_statuses.get(answer.exit_code) if isinstance(answer.exit_code, int) else None


def _effective_status(status: int | None, error: Error | None, agent_words: str) -> int | None:
    """The HTTP status of an error; inside a 200 or an agent's output the error may name its own."""
    if status is not None and status >= 400:
        return status
    for name in _STATUS_MEMBERS:
        number = parse_number(error.get(name)) if error else None
        if number is not None and 400 <= number <= 599:
            return int(number)
    in_words = _STATUS_IN_WORDS.search(agent_words)
    return int(in_words[1]) if in_words else status


def _headers(answer: ProviderAnswer, error: Error | None) -> dict[str, str]:
    """Lower-case headers; those that the error repeats (OpenRouter's metadata.headers) fill gaps."""
    metadata = error.get("metadata") if error else None
    repeated = metadata.get("headers") if isinstance(metadata, Mapping) else None
    return {**_lowered(repeated), **_lowered(answer.headers)}


def _lowered(headers: object) -> dict[str, str]:
    if not isinstance(headers, Mapping):
        return {}
    return {str(name).strip().lower(): str(value).strip() for name, value in headers.items()}


def _scalars(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every scalar of an error with the name it stands under, breadth and depth bounded."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in list(value.items())[:_MAX_NODES]:
            yield from _scalars(item, str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for item in value[:_MAX_NODES]:
            yield from _scalars(item, name, depth + 1)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value


def _codes(table: Table, headers: Mapping[str, str], members: tuple[tuple[str, Any], ...]) -> Iterator[str]:
    """Structured codes, the most telling member first; AWS appends ":http://…" or "#…" to its names."""
    for header in table.code_headers:
        if headers.get(header):
            yield re.split(r"[:#]", headers[header], maxsplit=1)[0].strip()
    for wanted in _CODE_MEMBERS:
        for name, value in members:
            if name == wanted and str(value).strip():
                yield str(value).strip()[:200]


def _words(parsed: Parsed, error: Error | None, members: tuple[tuple[str, Any], ...]) -> str:
    if error is None:
        return parsed.text[:_MAX_WORDS]
    further = [str(value) for name, value in members if name in _TEXT_MEMBERS and isinstance(value, str)]
    return "\n".join([str(error.get("message") or ""), *further])[:_MAX_WORDS]


def _plan_events(parsed: Parsed, clock: Clock) -> tuple[LimitReading, ...]:
    """What a Claude agent's last `rate_limit_event` says of the plan's window."""
    infos = [info for document in parsed.documents if (info := _plan_info(document)) is not None]
    if not infos:
        return ()
    name = str(infos[-1].get("rateLimitType") or "")
    moment = parse_epoch(infos[-1].get("resetsAt"))
    return (
        LimitReading(
            "plan",
            plan_window(name),
            reset_at=moment and clock.on_ours(moment),
            reset_after_s=usable_wait(clock.until(moment)),
            used_share=parse_number(infos[-1].get("utilization")),
            rejected=infos[-1].get("status") == "rejected",
            name=name,
        ),
    )


def _plan_info(document: Document) -> Mapping[str, Any] | None:
    info = document.get("rate_limit_info") if document.get("type") == "rate_limit_event" else None
    return info if isinstance(info, Mapping) else None
