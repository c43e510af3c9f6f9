"""Error → answer, in the caller's dialect and language. The only file that draws errors.

Every 429 carries both times, in the header, in milliseconds and in the body, always the same true time. Where trying
again soon is pointless `x-should-retry: false` goes with it, because some SDKs otherwise sleep or multiply.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import msgspec
from django.http import HttpResponse
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

from relay_project.problems import Problem, problem_of

LANGUAGES = ("en", "ko")


@dataclass(frozen=True, slots=True)
class Hearer:
    """Who hears the answer."""

    dialect: str = "openai"
    language: str = "en"
    request_id: str = ""


def language_of(accept_language: str) -> str:
    """The first language of an Accept-Language header that the relay speaks; English otherwise."""
    for name, _quality in parse_accept_lang_header(accept_language.lower()):
        if name[:2] in LANGUAGES:
            return name[:2]
    return "en"


def problem_response(error: BaseException, hearer: Hearer = Hearer()) -> HttpResponse:
    """The whole HTTP answer for an error."""
    problem = problem_of(error)
    response = HttpResponse(
        msgspec.json.encode(error_body(problem, hearer)),
        status=problem.entry.status,
        content_type="application/json",
    )
    for name, value in problem_headers(problem, hearer):
        response[name] = value
    return response


def problem_headers(problem: Problem, hearer: Hearer) -> list[tuple[str, str]]:
    headers = [("x-relay-reason", problem.code)]
    if hearer.request_id:
        headers.append(("x-relay-request-id", hearer.request_id))
    if problem.code == "invalid_api_key":
        headers.append(("www-authenticate", "Bearer"))
    if problem.retry_after_ms is not None:
        headers.append(("retry-after", str(math.ceil(problem.retry_after_ms / 1000))))
        headers.append(("retry-after-ms", str(problem.retry_after_ms)))
    if problem.pointless:
        headers.append(("x-should-retry", "false"))
    return headers


def error_body(problem: Problem, hearer: Hearer) -> dict[str, Any]:
    """OpenAI's error object with the relay's members (DESIGN §6)."""
    error = {
        "message": words_of(problem, hearer.language),
        "type": problem.entry.type,
        "param": problem.param,
        "code": problem.code,
        "stage": problem.entry.stage,
        "source": problem.source,
        "provider": problem.provider,
        "model": problem.model,
        "retry_after_ms": problem.retry_after_ms,
        "request_id": hearer.request_id or None,
    }
    if problem.estimate:
        error["estimate"] = True
    return {"error": dict(problem.detail) | error}  # a detail never takes the place of a member of the contract


def words_of(problem: Problem, language: str) -> str:
    with translation.override(language):
        if problem.own_message:
            return str(problem.own_message)
        fields = defaultdict(str, {name: str(value) for name, value in problem.words.items()})
        return (str(problem.entry.message) % fields).rstrip(" :")


def problem_event(error: BaseException, hearer: Hearer) -> bytes:
    """The error as a server-sent event, for a stream whose 200 is out already."""
    return b"data: " + msgspec.json.encode(error_body(problem_of(error), hearer)) + b"\n\n"


def problem_frame(error: BaseException, hearer: Hearer) -> dict[str, Any]:
    """The error as a WebSocket frame."""
    return {"type": "error", **error_body(problem_of(error), hearer)}
