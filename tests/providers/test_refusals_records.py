"""194 refusals as providers send them, each read as a correct reader reads it (must hold 1)."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from providers.refusals import ProviderAnswer, read_refusal, retry_after_ms

RECORDS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "refusals.jsonl").read_text(encoding="utf-8").splitlines()
]
# Record id → (kind, scope) that we read instead of what the record expects, with the argument. Empty: none differs.
ARGUED: dict[str, tuple[str, str, str]] = {}


def reading(record: dict[str, Any]) -> tuple[str, str, int | None]:
    now = datetime.fromisoformat(record["now"]) if "now" in record else None
    answer = ProviderAnswer(record["provider"], record["status"], record["headers"], record["body"])
    refusal = read_refusal(answer, now)
    return refusal.kind.value, refusal.scope.value, retry_after_ms(refusal)


def test_all_records_are_here() -> None:
    assert len(RECORDS) == len({record["id"] for record in RECORDS}) == 194
    assert len(ARGUED) <= 5


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_a_recorded_refusal_is_read_right(record: dict[str, Any]) -> None:
    expect = record["expect"]
    kind, scope, _ = ARGUED.get(record["id"], (expect["kind"], expect["scope"], ""))
    assert reading(record) == (kind, scope, expect["retry_after_ms"])


@pytest.mark.parametrize("record", [r for r in RECORDS if isinstance(r["body"], dict)], ids=lambda r: r["id"])
def test_the_form_of_the_body_does_not_matter(record: dict[str, Any]) -> None:
    """Decoded, as text, as bytes, in an array, in a JSON string: the reading is the same."""
    text = json.dumps(record["body"])
    forms = [text, text.encode(), [record["body"]], json.dumps([record["body"]]), json.dumps(text)]
    assert {reading({**record, "body": form}) for form in forms} == {reading(record)}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_the_case_of_header_names_does_not_matter(record: dict[str, Any]) -> None:
    shouted = {name.upper(): value for name, value in record["headers"].items()}
    assert reading({**record, "headers": shouted}) == reading(record)


def test_the_records_cover_every_kind() -> None:
    kinds = Counter(record["expect"]["kind"] for record in RECORDS)
    assert len(kinds) == 13
