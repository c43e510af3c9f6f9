"""Command-line agents: their last word decides, and model prose is never a refusal."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from providers.contract import Refusal
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.refusals import ProviderAnswer, read_refusal

NOW = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)


def read(
    vendor: str, status: int | None, body: object = "", headers: dict[str, str] | None = None, **more: Any
) -> Refusal:
    now = more.pop("now", NOW)
    return read_refusal(ProviderAnswer(vendor, status, headers or {}, body, **more), now)


PROSE = "You've hit your usage limit. insufficient_quota. Please try again in 5s."
ANSWERS = {
    "openai": {"choices": [{"message": {"content": PROSE}, "finish_reason": "stop"}], "usage": {}},
    "anthropic": {"type": "message", "content": [{"type": "text", "text": PROSE}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": PROSE}]}}], "usageMetadata": {}},
    "ollama": {"message": {"role": "assistant", "content": PROSE}, "done": True},
    "cohere": {"id": "x", "message": {"role": "assistant", "content": [{"text": PROSE}]}},
    "claude-code": {"type": "result", "subtype": "success", "is_error": False, "result": PROSE},
    "gemini-cli": {"session_id": "s", "response": PROSE, "stats": {}},
}


@pytest.mark.parametrize(("vendor", "answer"), ANSWERS.items())
def test_model_prose_is_never_taken_for_a_refusal(vendor: str, answer: object) -> None:
    status = None if vendor in ("claude-code", "gemini-cli") else 200
    for body in (answer, json.dumps(answer), f"data: {json.dumps(answer)}\n\ndata: [DONE]\n\n"):
        refusal = read(vendor, status, body)
        assert (refusal.kind, refusal.message) == (K.NONE, "")


def test_an_agents_plain_prose_is_none_when_it_ended_well_or_is_long() -> None:
    assert read("codex", None, PROSE, exit_code=0).kind is K.NONE
    assert read("codex", None, PROSE * 20).kind is K.NONE


def codex(*events: dict[str, Any]) -> str:
    return "\n".join(json.dumps(event) for event in events)


def test_an_agent_that_recovered_was_not_refused() -> None:
    output = codex(
        {"type": "error", "message": "Reconnecting... 1/2 (exceeded retry limit, last status: 429 Too Many Requests)"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": PROSE}},
        {"type": "turn.completed", "usage": {}},
    )
    assert read("codex", None, output, exit_code=0).kind is K.NONE


def test_an_agents_last_word_decides() -> None:
    output = codex(
        {"type": "error", "message": "Reconnecting... 1/2 (stream disconnected before completion)"},
        {"type": "turn.failed", "error": {"message": "You’ve hit your usage limit. Or try again at 8:20 PM."}},
    )
    refusal = read("codex", None, output, exit_code=1, local_zone="UTC")
    assert (refusal.kind, refusal.scope) == (K.EXHAUSTED, S.FIVE_HOUR)
    assert refusal.reset_at == NOW.replace(hour=20, minute=20)


def test_a_local_time_without_a_known_zone_gives_no_wait() -> None:
    output = codex({"type": "error", "message": "You've hit your usage limit. Try again at 8:20 PM."})
    assert read("codex", None, output, exit_code=1).retry_after_s is None


def test_a_killed_agents_latest_retry_says_what_was_wrong() -> None:
    lines = [{"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}]
    assert read("claude", None, codex(*lines), exit_code=124).kind is K.OVERLOADED


@pytest.mark.parametrize(
    ("exit_code", "kind"), [(173, K.RATE_LIMITED), (247, K.OVERLOADED), (41, K.AUTH), (42, K.BAD_REQUEST)]
)
def test_geminis_exit_code_is_a_status_cut_to_a_byte(exit_code: int, kind: K) -> None:
    assert read("gemini-cli", None, "", exit_code=exit_code).kind is kind


def test_json_among_an_agents_loose_lines_is_found() -> None:
    error = {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid"}}
    noise = f"Warning: no colours\n_ApiError: {json.dumps(error)}\n    at throwErrorIfNotOK"
    refusal = read("gemini-cli", None, noise, exit_code=144)
    assert (refusal.kind, refusal.message) == (K.AUTH, "API key not valid")
