"""The reader is total: whatever a provider, a proxy or an attacker sends, it answers, and never with an absurd wait."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.contract import Refusal, RefusalKind, RefusalScope
from providers.reading.vendors import TABLES
from providers.refusals import ProviderAnswer, explain, read_refusal, retry_after_ms
from providers.retry_after import MAX_WAIT_S

RECORDS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "refusals.jsonl").read_text(encoding="utf-8").splitlines()
]

MEMBERS = st.sampled_from(
    [
        "error", "message", "code", "type", "status", "details", "detail", "title", "reason", "metadata",
        "headers", "violations", "quotaId", "quotaValue", "retryDelay", "quotaResetDelay",
        "quotaResetTimeStamp", "resets_at", "resets_in_seconds", "retry_after", "retry_after_ms",
        "estimated_time", "response", "choices", "payload", ":exception-type", "promptFeedback",
        "blockReason", "rate_limit_info", "resetsAt", "rateLimitType", "is_error", "api_error_status",
        "result", "session_id", "finish_reason", "object", "raw", "limit_source",
    ]
)  # fmt: skip
HEADERS = st.sampled_from(
    [
        "retry-after", "retry-after-ms", "date", "x-ratelimit-reset", "x-ratelimit-limit-tokens",
        "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "x-ratelimit-renewalperiod-requests",
        "anthropic-ratelimit-unified-5h-status", "anthropic-ratelimit-unified-5h-reset",
        "anthropic-ratelimit-unified-status", "anthropic-ratelimit-requests-reset",
        "x-codex-primary-reset-at", "x-codex-primary-window-minutes", "x-amzn-errortype",
        "x-rate-limit-reset-tokens",
    ]
)  # fmt: skip
ODD_VALUES = st.sampled_from(
    [
        "0", "-1", "1e309", "NaN", "Infinity", "9" * 500, "1790856060", "99999999999999999", "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-23:59", "Thu, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 -2359", "6m0s",
        "99999999999999h", "rejected", "allowed", "Limit 0, Used 5, Requested 9", "Limit 10, Used 9, Requested 5 TPM",
        "per day", "resets 3pm (UTC)", "resets Feb 29, 3pm (Asia/Seoul)", "try again in 0s", "usage limit|9999999999",
        "2026-02-31 at 00:00 UTC", "\ud800", "\x00", "limit: 0", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "429",
        "result", "rate_limit_event", "turn.failed", "error",
    ]
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | ODD_VALUES
    | st.sampled_from([10**400, -(10**20), 1e300])
)
BODIES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(MEMBERS | st.text(max_size=8), inner, max_size=6),
    max_leaves=30,
)
CLOCKS = st.none() | st.datetimes(timezones=st.none() | st.just(UTC) | st.just(timezone(timedelta(hours=14))))
VENDORS = st.sampled_from([*TABLES, "generic", "", "-"]) | st.text(max_size=12)
STATUSES = st.none() | st.integers() | st.sampled_from([200, 400, 401, 402, 403, 413, 429, 500, 503, 529])


def assert_sane(refusal: Refusal) -> None:
    assert isinstance(refusal.kind, RefusalKind)
    assert isinstance(refusal.scope, RefusalScope)
    if refusal.retry_after_s is not None:
        assert math.isfinite(refusal.retry_after_s)
        assert 0 < refusal.retry_after_s <= MAX_WAIT_S
        assert (retry_after_ms(refusal) or 0) >= 0
    assert refusal.reset_at is None or refusal.reset_at.utcoffset() == timedelta(0)
    for words in (refusal.message, refusal.evidence, refusal.code, refusal.limit_name, explain(refusal)):
        words.encode("utf-8")
    assert len(refusal.message) <= 2000


def as_sent(body: object) -> st.SearchStrategy[object]:
    text = json.dumps(body)
    return st.sampled_from(
        [body, text, text.encode(), f"data: {text}\n\n", f"{text}\n{text}", text[:-1], f"<html>{text}"]
    )


@settings(max_examples=600, deadline=None)
@given(st.data(), VENDORS, STATUSES, st.dictionaries(HEADERS | st.text(max_size=10), ODD_VALUES, max_size=6), CLOCKS)
def test_no_answer_makes_the_reader_raise_or_tell_an_absurd_wait(
    data: st.DataObject, vendor: str, status: int | None, headers: dict[str, str], now: datetime | None
) -> None:
    body = data.draw(BODIES.flatmap(as_sent))
    exit_code = data.draw(st.none() | st.integers(-20, 300))
    answer = ProviderAnswer(
        vendor, status, headers, body, exit_code, data.draw(st.sampled_from(["", "UTC", "No/Where"]))
    )
    assert_sane(read_refusal(answer, now))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), VENDORS, STATUSES, CLOCKS)
def test_any_bytes_are_read(body: bytes, vendor: str, status: int | None, now: datetime | None) -> None:
    assert_sane(read_refusal(ProviderAnswer(vendor, status, {}, body), now))


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(RECORDS), st.data(), CLOCKS)
def test_a_damaged_record_is_still_read(record: dict[str, Any], data: st.DataObject, now: datetime | None) -> None:
    body = record["body"] if isinstance(record["body"], str) else json.dumps(record["body"], ensure_ascii=False)
    raw = bytearray(body.encode())
    for _ in range(data.draw(st.integers(0, 6)) if raw else 0):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    headers = {**record["headers"], **data.draw(st.dictionaries(HEADERS, ODD_VALUES, max_size=3))}
    cut = data.draw(st.integers(0, len(raw)))
    for sent in (bytes(raw), bytes(raw[:cut])):
        assert_sane(read_refusal(ProviderAnswer(record["provider"], record["status"], headers, sent), now))


def test_depth_and_size_do_not_break_the_reader() -> None:
    bodies: list[object] = [
        "[" * 200_000,
        '{"error":' * 50_000,
        json.dumps({"error": {"message": "try again in 1" + "1" * 100_000 + "s"}}),
        json.dumps({"error": {"message": "again in 1s " * 20_000}}),
        json.dumps({"error": {"message": "1h" * 100_000}}),
        json.dumps({"error": {"message": "x" * 300_000}}),
        '{"error" ' * 20_000,
        "<html" + "<" * 200_000,
        "a=" * 100_000,
    ]
    loop: dict[str, Any] = {}
    loop["error"] = loop
    for body in [*bodies, loop]:
        assert_sane(read_refusal(ProviderAnswer("codex", 429, {}, body, exit_code=1), datetime.now(UTC)))


def test_members_of_the_wrong_type_are_ignored() -> None:
    strange: Any = {
        "vendor": None,
        "status": "429",
        "headers": None,
        "body": object(),
        "exit_code": "1",
        "local_zone": "",
    }
    assert_sane(read_refusal(ProviderAnswer(**strange), None))
    assert read_refusal(ProviderAnswer("x", 429, {1: 2, "retry-after": 3}, None), None).retry_after_s == 3  # type: ignore[dict-item]
