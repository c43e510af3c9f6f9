"""`manage.py read_refusal FILE.jsonl`."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation

RECORDS = Path(__file__).parents[1] / "data" / "refusals.jsonl"
GOOD = {"id": "a", "provider": "openai", "status": 429, "headers": {"retry-after": "7"}, "body": ""}


def run(path: Path, *options: str, fails: bool = False) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError) if fails else nullcontext() as failure:
        call_command("read_refusal", str(path), *options, stdout=out, stderr=err)
    assert failure is None or failure.value.returncode == 1
    return out.getvalue(), err.getvalue()


def test_one_json_line_per_record_in_order() -> None:
    out, err = run(RECORDS)
    printed = [json.loads(line) for line in out.splitlines()]
    records = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    assert [line["id"] for line in printed] == [record["id"] for record in records]
    assert all(list(line) == ["id", "kind", "scope", "retry_after_ms"] for line in printed)
    assert err == ""


def test_bad_lines_are_named_and_the_others_still_read(tmp_path: Path) -> None:
    bad = [
        "{not json",
        "[]",
        json.dumps({**GOOD, "id": None}),
        json.dumps({**GOOD, "status": "429"}),
        json.dumps({**GOOD, "now": "yesterday"}),
        json.dumps({**GOOD, "now": "2026-01-01T00:00:00"}),
        json.dumps({"id": "b", "status": 429}),
    ]
    path = tmp_path / "refusals.jsonl"
    path.write_bytes("\n".join([json.dumps(GOOD), "", *bad]).encode() + b"\n\xff\xfe\n" + json.dumps(GOOD).encode())
    out, err = run(path, fails=True)
    assert [json.loads(line)["retry_after_ms"] for line in out.splitlines()] == [7000, 7000]
    assert [line.split(":")[0] for line in err.splitlines()] == [f"line {number}" for number in range(3, 11)]


def test_a_missing_file_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot read .*absent"):
        call_command("read_refusal", str(tmp_path / "absent.jsonl"))


def test_explain_speaks_to_people(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    with translation.override("en"):
        out, _ = run(path, "--explain")
    assert "Briefly busy" in out
    assert "Comes back in 7 s." in out
