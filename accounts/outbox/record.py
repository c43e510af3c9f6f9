"""What is written down about a request, and its line in the journal.

A line is one JSON object with one key: `{"intent": {…}}`, `{"carried": {…}}` or `{"result": {…}}`. Unknown
fields are ignored and missing ones take their default, so a journal left by another version can still be
read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from accounts.outcomes import Outcome


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request, as `accounts.models.UsageRow` keeps it. Counts and costs are None where not known.

    Two are made for each request; a frozen dataclass of this size takes six times as long to make.
    """

    request_id: str  # unique; at most 64 characters
    created_at_us: int  # epoch, microseconds
    user_id: int | None = None
    token_id: int | None = None
    team_id: int | None = None
    client: str = ""
    role: str = ""
    provider: str = ""  # slug
    model: str = ""  # public name
    upstream_model: str = ""
    klass: str = ""
    purpose: str = ""
    outcome: str = ""  # accounts.outcomes.Outcome; empty in an intent
    reason: str = ""
    stage: str = ""
    http_status: int | None = None
    stream: bool = False
    queue_ms: int = 0
    pace_ms: int = 0
    run_ms: int = 0
    ttft_ms: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    charged_tokens: int | None = None
    cost_microusd: int | None = None
    measured: str = ""
    recovered: bool = False
    attempts: Sequence[Mapping[str, Any]] = ()  # {provider, model, credential, outcome, reason, run_ms}
    refused_count: int = 1  # requests this record stands for

    def lost(self) -> UsageRecord:
        """This intent's row when its process died before it could tell the result."""
        return msgspec.structs.replace(self, outcome=Outcome.RELAY_LOST, reason=Outcome.RELAY_LOST, stage="relay")


class Line(msgspec.Struct):
    """One line of a journal; exactly one field is set."""

    intent: UsageRecord | None = None
    carried: UsageRecord | None = None  # an intent said again, so that its old segment may go
    result: UsageRecord | None = None


_encode_json = msgspec.json.Encoder().encode
_decode_json = msgspec.json.Decoder(Line).decode


def encode_intent(record: UsageRecord) -> bytes:
    return b'{"intent":' + _encode(record) + b"}\n"


def encode_carried(record: UsageRecord) -> bytes:
    return b'{"carried":' + _encode(record) + b"}\n"


def encode_result(record: UsageRecord) -> bytes:
    return b'{"result":' + _encode(record) + b"}\n"


def decode_line(line: bytes) -> Line | None:
    """The line's content; None where it is a torn piece (a write that the disk cut short)."""
    try:
        return _decode_json(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _encode(record: UsageRecord) -> bytes:
    try:
        return _encode_json(record)
    except UnicodeEncodeError:  # half of a surrogate pair, from a caller's own text
        return json.dumps(msgspec.structs.asdict(record), ensure_ascii=False).encode("utf-8", "replace")
