"""Which line of a command-line agent's output decides.

Agents try again by themselves and say so on the way ("Reconnecting... 1/2", `api_retry`): only their last,
terminal line tells how it ended. Without one (the agent was killed) the latest error on the way is the best
evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from providers.reading.documents import Document
from providers.reading.shapes import Error, error_in


@dataclass(frozen=True, slots=True)
class Outcome:
    succeeded: bool  # a terminal line says so
    error: Error | None


def outcome_of(documents: Sequence[Document]) -> Outcome:
    terminal = next((document for document in reversed(documents) if _is_terminal(document)), None)
    if terminal is None:
        return Outcome(False, _last_error(documents))
    error = error_in(terminal, failed=False)
    if error is None:
        return Outcome(True, None)
    return Outcome(False, {**_codes_on_the_way(documents), **error})


def _is_terminal(document: Document) -> bool:
    """Claude's and Gemini's `result`, Codex's `turn.…`, and Gemini's one object of `--output-format json`."""
    if document.get("type") in ("result", "turn.failed", "turn.completed"):
        return True
    return "session_id" in document and "type" not in document and ("response" in document or "error" in document)


def _last_error(documents: Sequence[Document]) -> Error | None:
    errors = (_named_on_the_way(document) or error_in(document, failed=False) for document in reversed(documents))
    return next((error for error in errors if error is not None), None)


def _codes_on_the_way(documents: Sequence[Document]) -> Error:
    """Claude names the error's code on the line before its result, which has only words."""
    codes = (_named_on_the_way(document) for document in reversed(documents))
    latest = next((error for error in codes if error is not None), None)
    return {"code": latest["code"]} if latest else {}


def _named_on_the_way(document: Document) -> Error | None:
    """Claude's synthetic message and its `api_retry`: {"error": "rate_limit", "error_status": 429}."""
    name = document.get("error")
    if document.get("type") not in ("assistant", "system") or not isinstance(name, str):
        return None
    return {"message": "", "code": name, "status": document.get("error_status")}
