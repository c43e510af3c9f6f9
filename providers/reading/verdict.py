"""From evidence to a judgement: what kind of no this is, and what it hangs on.

Order: the plan window that says "rejected" → the first row of the vendor's table, its dialect, then the HTTP
status → two corrections that hold everywhere: a limit of nothing is a missing entitlement, and a request
larger than the whole limit will never fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.quota_headers import LimitReading
from providers.reading.documents import Form
from providers.reading.evidence import Evidence
from providers.reading.figures import read_figures
from providers.reading.rows import Row, Table
from providers.reading.windows import is_long

_LIMITS = (K.RATE_LIMITED, K.EXHAUSTED)
# "above some minutes": what no waiting caller sits out (Gemini CLI draws the same line, googleQuotaErrors.ts)
_BRIEF_AT_MOST_S = 300.0
_ZERO_LIMIT = re.compile(r"\blimit:?\s0(?!\d|\.\d)", re.IGNORECASE)

BY_STATUS = (
    Row(K.AUTH, statuses=(401, 403, 407)),
    Row(K.BILLING, statuses=(402,)),
    Row(K.NOT_FOUND, statuses=(404, 410)),
    Row(K.TIMEOUT, statuses=(408, 504, 522, 524)),
    Row(K.RATE_LIMITED, statuses=(429,)),
    Row(K.OVERLOADED, statuses=(529,)),
    Row(K.BAD_REQUEST, statuses=tuple(range(400, 500))),
    Row(K.SERVER_ERROR, statuses=tuple(range(500, 600))),
)

_DEFAULT_SCOPE = {
    K.BILLING: S.ACCOUNT,
    K.AUTH: S.ACCOUNT,
    K.CONTEXT_LENGTH: S.REQUEST,
    K.BAD_REQUEST: S.REQUEST,
    K.CONTENT_FILTER: S.REQUEST,
    K.NOT_FOUND: S.MODEL,
    K.OVERLOADED: S.MODEL,
    K.CONCURRENCY: S.CONCURRENCY,
    K.SERVER_ERROR: S.MODEL,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`scope` None: still to be read from windows and waits."""

    kind: K
    scope: S | None
    why: str
    limit_name: str = ""
    by_window: bool = False  # EXHAUSTED only because of the window's length


def decide(evidence: Evidence, table: Table) -> Verdict:
    verdict = _refused_window(evidence) or _first_row(evidence, table)
    if verdict is None:
        return _not_a_refusal(evidence)
    if verdict.kind not in _LIMITS:
        return verdict
    return _never_fits(evidence, table) or _no_entitlement(evidence) or _by_window(verdict, evidence)


def settle_scope(verdict: Verdict, wait_s: float | None, evidence: Evidence, table: Table) -> Verdict:
    """Fill an open scope; and judge by the number where it says more than the words.

    A "rate limit" that lasts longer than some minutes is used up. A day that refills continuously can be back
    in seconds (10,000 a day is one every 8.64 s): then it is only briefly busy.
    """
    if verdict.kind is K.RATE_LIMITED and wait_s is not None and wait_s > _BRIEF_AT_MOST_S:
        scope = table.long_scope if verdict.scope in (None, S.SECOND, S.MINUTE) else verdict.scope
        return replace(verdict, kind=K.EXHAUSTED, scope=scope, why=f"{verdict.why}; long wait")
    if verdict.by_window and table.refills and wait_s is not None and wait_s <= _BRIEF_AT_MOST_S:
        return replace(verdict, kind=K.RATE_LIMITED, why=f"{verdict.why}; short wait of a refilling window")
    if verdict.scope is not None:
        return verdict
    return replace(verdict, scope=_open_scope(verdict.kind, evidence, table))


def _open_scope(kind: K, evidence: Evidence, table: Table) -> S:
    if kind is K.EXHAUSTED:
        return table.long_scope
    if kind is K.RATE_LIMITED:
        return table.brief_scope if evidence.structured else S.UNKNOWN
    if evidence.form is Form.HTML or (kind is K.SERVER_ERROR and not evidence.structured):
        return S.UNKNOWN  # something in between spoke, not the API
    return _DEFAULT_SCOPE.get(kind, S.UNKNOWN)


def _refused_window(evidence: Evidence) -> Verdict | None:
    """Of a subscription's windows: the rejected one that resets last."""
    refused = [reading for reading in evidence.refused_windows if reading.name] or evidence.refused_windows
    if not refused or not evidence.failed:
        return None
    last = max(refused, key=_reset_epoch)
    scope = S.MODEL if last.window is S.UNKNOWN else last.window
    return Verdict(K.EXHAUSTED, scope, f"window {last.name or 'of one model'} rejected", last.name)


def _reset_epoch(reading: LimitReading) -> float:
    return reading.reset_at.timestamp() if reading.reset_at else float("-inf")


def _first_row(evidence: Evidence, table: Table) -> Verdict | None:
    if not evidence.failed and not evidence.bare_words:
        return None
    verdict = _walk(table.own_and_inherited_rows(), evidence)
    if verdict is not None or evidence.bare_words:
        return verdict
    return _walk(BY_STATUS, evidence) or Verdict(K.SERVER_ERROR, None, "an error that no table knows")


def _walk(rows: Iterable[Row], evidence: Evidence) -> Verdict | None:
    codes = evidence.code_set
    for row in rows:
        if row.holds(codes, evidence.status, evidence.words):
            name = next(iter(evidence.limit_names), "")
            return Verdict(row.kind, row.scope, row.because(codes, evidence.status), name)
    return None


def _not_a_refusal(evidence: Evidence) -> Verdict:
    window = next((reading.window for reading in evidence.readings if reading.rejected is not None), S.UNKNOWN)
    return Verdict(K.NONE, window, "no error in the answer")


def _never_fits(evidence: Evidence, table: Table) -> Verdict | None:
    if not table.refills or not read_figures(evidence.words).never_fits:
        return None
    return Verdict(K.BAD_REQUEST, evidence.window or S.REQUEST, "requested more than the whole limit")


def _no_entitlement(evidence: Evidence) -> Verdict | None:
    told_zero = any(reading.limit == 0 for reading in evidence.readings)
    quota_zero = ("quotaValue", "0") in [(name, str(value)) for name, value in evidence.members]
    if not (told_zero or quota_zero or _ZERO_LIMIT.search(evidence.words)):
        return None
    return Verdict(K.BILLING, S.MODEL, "a limit of 0 is a missing entitlement", next(iter(evidence.limit_names), ""))


def _by_window(verdict: Verdict, evidence: Evidence) -> Verdict:
    if verdict.scope is not None:
        return verdict
    window = evidence.window
    if verdict.kind is K.RATE_LIMITED and is_long(window):
        return replace(verdict, kind=K.EXHAUSTED, scope=window, by_window=True)
    return replace(verdict, scope=window)
