"""Reads a provider's no: any answer → one `Refusal`. Pure and total: it never raises and never reads a clock.

What vendors say is data (`adapters/*/refusals.py`); the machinery is in `providers.reading`. Bound: a wait is
positive and at most `retry_after.MAX_WAIT_S`, or None.
"""

from __future__ import annotations

from datetime import UTC, datetime

from providers.contract import Refusal, RefusalKind, RefusalScope
from providers.reading.answer import ProviderAnswer
from providers.reading.evidence import Evidence, gather
from providers.reading.explanation import explain
from providers.reading.redaction import presentable
from providers.reading.vendors import table_of
from providers.reading.verdict import Verdict, decide, settle_scope
from providers.reading.waits import Wait, pick_wait
from providers.retry_after import whole_ms

__all__ = ["ProviderAnswer", "explain", "read_refusal", "retry_after_ms"]

_MESSAGE_LIMIT, _EVIDENCE_LIMIT, _CODE_LIMIT = 2000, 300, 100


def read_refusal(answer: ProviderAnswer, now: datetime | None) -> Refusal:
    """What the provider's answer means; kind NONE if it is no refusal.

    `now`: wall time at which the answer came, aware (naive is taken as UTC). None = unknown: a moment that
    the provider names then gives no wait, unless its `Date` header tells the time.
    """
    if now is not None and now.tzinfo is None:
        now = now.replace(tzinfo=UTC)
    table = table_of(answer.vendor)
    evidence = gather(answer, table, now)
    verdict = decide(evidence, table)
    wait = pick_wait(verdict, evidence, table, answer.local_zone)
    verdict = settle_scope(verdict, wait.wait_s if wait else None, evidence, table)
    return _refusal(verdict, wait, evidence, table.name)


def retry_after_ms(refusal: Refusal) -> int | None:
    """The wait for the wire, rounded up to whole milliseconds."""
    return None if refusal.retry_after_s is None else whole_ms(refusal.retry_after_s)


def _refusal(verdict: Verdict, wait: Wait | None, evidence: Evidence, table_name: str) -> Refusal:
    said = "" if verdict.kind is RefusalKind.NONE else evidence.message  # an answer's own text is nobody's refusal
    reasons = [f"{table_name}: {verdict.why}", f"wait: {wait.hint}" if wait else ""]
    return Refusal(
        kind=verdict.kind,
        scope=verdict.scope or RefusalScope.UNKNOWN,
        retry_after_s=wait.wait_s if wait else None,
        reset_at=wait.reset_at if wait else None,
        limit_name=presentable(verdict.limit_name, _CODE_LIMIT),
        evidence=presentable("; ".join(filter(None, reasons)), _EVIDENCE_LIMIT),
        status=evidence.status,
        code=presentable(next(iter(evidence.codes), ""), _CODE_LIMIT),
        message=presentable(said, _MESSAGE_LIMIT),
    )
