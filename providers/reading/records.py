"""Refusals as JSON lines: {"id", "provider", "status", "headers", "body"[, "now", "exit_code",
"local_zone"]}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from providers.reading.answer import ProviderAnswer


@dataclass(frozen=True, slots=True)
class Record:
    id: str
    answer: ProviderAnswer
    now: datetime | None  # when it was received; None = not told


class BadRecord(ValueError):
    """A line that is no record; its text says why."""


def parse_record(line: str) -> Record:
    """Raises `BadRecord`."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise BadRecord("not a JSON object")
    return Record(_identity(fields), _answer(fields), _moment(fields.get("now")))


def _identity(fields: Mapping[str, Any]) -> str:
    if not isinstance(fields.get("id"), str | int):
        raise BadRecord("id is missing")
    return str(fields["id"])


def _answer(fields: Mapping[str, Any]) -> ProviderAnswer:
    return ProviderAnswer(
        vendor=_typed(fields, "provider", str),
        status=_typed(fields, "status", int, optional=True),
        headers=_typed(fields, "headers", dict, optional=True) or {},
        body=fields.get("body"),
        exit_code=_typed(fields, "exit_code", int, optional=True),
        local_zone=_typed(fields, "local_zone", str, optional=True) or "",
    )


def _typed(fields: Mapping[str, Any], name: str, kind: type, *, optional: bool = False) -> Any:
    value = fields.get(name)
    if optional and value is None:
        return None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadRecord(f"{name} is missing or no {kind.__name__}")
    return value


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise BadRecord(f"now is no ISO 8601 time: {value}") from error
    if moment.tzinfo is None:
        raise BadRecord(f"now has no zone: {value}")
    return moment
