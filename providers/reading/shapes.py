"""The shapes in which providers wrap an error, as a list of small readers.

Each takes one document and returns the error's members as a mapping with its words under "message", or None
if the document has not that shape. Only members that carry errors are looked at: model prose lives elsewhere
in the documents and can never be taken for a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from providers.reading.documents import Document, embedded_documents

Error = dict[str, Any]

_MAX_DEPTH = 5
_WORDS = ("message", "msg", "detail", "title", "error_description", "error_message", "Message")
_NO_ERROR_CODES = frozenset({"", "0", "200", "ok", "success"})


def error_in(document: Document, *, failed: bool) -> Error | None:
    """The error that `document` carries, unwrapped to its core; None if it carries none.

    `failed`: the answer is known to be an error (by its status), so a document of no known shape is one too.
    """
    for shape in _SHAPES:
        if (error := shape(document)) is not None:
            return _core(error)
    return _core(_worded(document)) if failed and not _is_agent_result(document) else None


def _core(error: Error, depth: int = 0) -> Error:
    """Follow JSON inside the message, level by level; the inner members rule, the outer fill gaps."""
    message = error.get("message")
    if depth >= _MAX_DEPTH or not isinstance(message, str):
        return error
    for document in embedded_documents(message):
        inner = next((found for shape in _SHAPES if (found := shape(document)) is not None), None)
        if inner is not None:
            return _core({**error, **inner}, depth + 1)
    return error


def _worded(members: Mapping[str, Any]) -> Error:
    """`members` with their words under "message", whatever the provider calls them."""
    words = next((members[name] for name in _WORDS if isinstance(members.get(name), str)), "")
    return {**members, "message": words}


def _is_agent_result(document: Document) -> bool:
    return document.get("type") == "result"


def _agent_result(document: Document) -> Error | None:
    """Claude Code's last line. `subtype` says success even then; only `is_error` tells."""
    if not _is_agent_result(document) or document.get("is_error") is not True:
        return None
    words = document.get("result") or document.get("subtype") or ""
    return {"message": str(words), "status": document.get("api_error_status")}


def _nested(document: Document) -> Error | None:
    """{"error": {…}} of OpenAI, Anthropic, Google, …; {"error": "text", "code": …} of xAI, HF, Ollama, LM
    Studio.
    """
    error = document.get("error")
    if isinstance(error, list | tuple):
        error = next((item for item in error if isinstance(item, Mapping)), None)
    if isinstance(error, Mapping) and error:
        return _worded(error)
    if isinstance(error, str) and error:
        return {**{name: value for name, value in document.items() if name != "error"}, "message": error}
    return None


def _failed_response(document: Document) -> Error | None:
    """The Responses API: `response.failed` and its like."""
    response = document.get("response")
    return _nested(response) if isinstance(response, Mapping) else None


def _failed_choice(document: Document) -> Error | None:
    """A choice that broke off (OpenRouter), or that the content filter took before any word."""
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return None
    if choice.get("finish_reason") == "content_filter" and not _has_content(choice):
        return {"message": "", "code": "content_filter"}
    return _nested(choice)


def _has_content(choice: Mapping[str, Any]) -> bool:
    parts = [choice.get("message"), choice.get("delta")]
    return any(isinstance(part, Mapping) and (part.get("content") or part.get("tool_calls")) for part in parts)


def _exception_frame(document: Document) -> Error | None:
    """An AWS event-stream exception, decoded to JSON."""
    name = document.get(":exception-type")
    payload = document.get("payload")
    if not isinstance(name, str):
        return None
    return {**_worded(payload if isinstance(payload, Mapping) else document), "code": name}


def _blocked_prompt(document: Document) -> Error | None:
    """Gemini answers 200 with no candidates."""
    feedback = document.get("promptFeedback")
    if not isinstance(feedback, Mapping) or not feedback.get("blockReason") or document.get("candidates"):
        return None
    return {
        "message": str(feedback.get("blockReasonMessage") or ""),
        "code": "prompt_blocked",
        "reason": str(feedback["blockReason"]),
    }


def _detail(document: Document) -> Error | None:
    """FastAPI's {"detail": text | [{"msg", "type"}] | {…}} (fal and many self-hosted servers)."""
    detail = document.get("detail")
    if isinstance(detail, list | tuple):
        detail = next((item for item in detail if isinstance(item, Mapping)), None)
    if isinstance(detail, Mapping) and detail:
        return _worded(detail)
    return _worded(document) if isinstance(detail, str) and detail else None


def _flat(document: Document) -> Error | None:
    """Code and words side by side at the top: DashScope, Mistral, old vLLM, an agent's {"type": "error",
    …}.
    """
    if not any(isinstance(document.get(name), str) for name in _WORDS):
        return None
    code = document.get("code")
    is_error = document.get("type") == "error" or document.get("object") == "error"
    has_code = isinstance(code, str | int) and str(code).strip().lower() not in _NO_ERROR_CODES
    return _worded(document) if is_error or has_code else None


_SHAPES: tuple[Callable[[Document], Error | None], ...] = (
    _agent_result,
    _nested,
    _failed_response,
    _failed_choice,
    _exception_frame,
    _blocked_prompt,
    _detail,
    _flat,
)
