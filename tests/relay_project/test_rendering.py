"""One renderer of errors: every code, both times, the caller's language."""

from __future__ import annotations

import json
import math

import pytest
from django.http import Http404
from rest_framework import exceptions as drf

from providers.contract import Refusal, RefusalKind
from relay_project.catalogue import CATALOGUE
from relay_project.errors import (
    BodyTooLarge,
    InvalidKey,
    InvalidRequest,
    LeftOut,
    NoSuchModel,
    NothingToTry,
    ProviderSaidNo,
    TooMuchHeld,
)
from relay_project.refusal_codes import CODES, OUTCOMES, told_wait_s
from relay_project.rendering import Hearer, language_of, problem_event, problem_frame, problem_response
from scheduling.core.spec import LaneRules
from scheduling.errors import AtTheDoor, GaveUpWaiting, LaneProfileMissing, StoreAway, Told

RULES = LaneRules(lanes=1, lanes_per_model=None, max_waiting=8, wait_timeout_us=60_000_000, run_timeout_us=180_000_000)
HEARER = Hearer("openai", "en", "req_1")


def said_no(kind: RefusalKind, *, retry_after_s: float | None = 1.2) -> ProviderSaidNo:
    refusal = Refusal(kind, message="slow down")
    return ProviderSaidNo(CODES[kind], refusal, provider="p", model="m", retry_after_s=retry_after_s)


def error_in(content: bytes) -> dict[str, object]:
    error: dict[str, object] = json.loads(content)["error"]
    return error


def test_every_kind_of_refusal_has_a_code_in_the_catalogue_and_an_outcome() -> None:
    assert set(CODES) == set(RefusalKind) == set(OUTCOMES)
    assert set(CODES.values()) <= set(CATALOGUE)


def test_a_timeout_in_line_is_told_as_the_contract_says_in_english_and_korean() -> None:
    error = GaveUpWaiting(Told(retry_after_us=3_000_001, queue_us=2_000_000), provider="codex", model="gpt")
    response = problem_response(error, HEARER)
    assert response.status_code == 429
    assert response["retry-after"] == "4"
    assert response["retry-after-ms"] == "3001"
    assert response["x-relay-reason"] == "provider_queue_timeout"
    told = error_in(response.content)
    assert told["message"] == (
        "Waited in line until the time limit. Call again when the running requests "
        "(a connection check included) have ended."
    )
    assert (told["stage"], told["source"], told["provider"]) == ("capacity", "relay", "codex")
    assert (told["retry_after_ms"], told["request_id"]) == (3001, "req_1")
    korean = error_in(problem_response(error, Hearer("openai", "ko")).content)
    assert korean["message"] == (
        "앞선 요청이 끝나기를 기다리다 대기 시간이 초과됐습니다. "
        "실행 중인 요청(연결 확인 포함)이 끝난 뒤 다시 호출하세요."
    )


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (AtTheDoor(Told(retry_after_us=1)), 429, "gateway_overloaded"),
        (AtTheDoor(Told(retry_after_us=1), code="provider_queue_full"), 429, "provider_queue_full"),
        (LaneProfileMissing(provider="p"), 503, "lane_profile_missing"),
        (StoreAway(), 503, "coordinator_unavailable"),
        (StoreAway(code="relay_draining"), 503, "relay_draining"),
        (TooMuchHeld(), 429, "gateway_overloaded"),
        (BodyTooLarge(10), 413, "request_too_large"),
        (InvalidRequest("x", param="n"), 400, "invalid_request"),
        (InvalidKey(), 401, "invalid_api_key"),
        (NoSuchModel("gpt"), 404, "model_not_found"),
        (NothingToTry("provider_paused", [LeftOut("m", "paused", "back at noon")]), 503, "provider_paused"),
        (said_no(RefusalKind.RATE_LIMITED), 429, "provider_rate_limited"),
        (said_no(RefusalKind.OVERLOADED), 503, "provider_overloaded"),
        (said_no(RefusalKind.BILLING), 429, "insufficient_quota"),
        (said_no(RefusalKind.SERVER_ERROR), 502, "provider_unavailable"),
        (said_no(RefusalKind.TIMEOUT), 504, "run_timeout"),
        (said_no(RefusalKind.CONTEXT_LENGTH), 400, "context_length_exceeded"),
        (Http404(), 404, "not_found"),
        (drf.MethodNotAllowed("GET"), 405, "method_not_allowed"),
        (ZeroDivisionError("secret"), 500, "internal"),
    ],
)
def test_every_error_becomes_its_code_and_status(error: Exception, status: int, code: str) -> None:
    response = problem_response(error, HEARER)
    assert response.status_code == status
    told = error_in(response.content)
    assert told["code"] == code
    assert told["type"] == CATALOGUE[code].type
    assert "secret" not in str(told["message"])
    assert response["x-relay-request-id"] == "req_1"


@pytest.mark.parametrize("kind", [RefusalKind.RATE_LIMITED, RefusalKind.EXHAUSTED, RefusalKind.CONCURRENCY])
@pytest.mark.parametrize("retry_after_s", [0.0001, 0.9, 1, 59.2, 86_400 * 3])
def test_every_429_carries_the_same_time_three_times(kind: RefusalKind, retry_after_s: float) -> None:
    response = problem_response(said_no(kind, retry_after_s=retry_after_s), HEARER)
    told_ms = error_in(response.content)["retry_after_ms"]
    assert told_ms == int(response["retry-after-ms"]) == math.ceil(retry_after_s * 1000)
    assert int(response["retry-after"]) == math.ceil(retry_after_s)


def test_where_trying_again_soon_is_pointless_it_is_said() -> None:
    assert "x-should-retry" not in problem_response(said_no(RefusalKind.RATE_LIMITED), HEARER)
    pointless = [
        said_no(RefusalKind.RATE_LIMITED, retry_after_s=121),
        said_no(RefusalKind.EXHAUSTED, retry_after_s=5),
        said_no(RefusalKind.OVERLOADED, retry_after_s=None),
        StoreAway(),
        InvalidKey(),
    ]
    for error in pointless:
        assert problem_response(error, HEARER)["x-should-retry"] == "false"


def test_a_503_without_a_known_time_carries_no_times() -> None:
    response = problem_response(StoreAway(), HEARER)
    assert "retry-after" not in response
    assert error_in(response.content)["retry_after_ms"] is None


def test_the_providers_own_time_is_told_and_a_default_where_it_gave_none() -> None:
    from datetime import UTC, datetime, timedelta

    now = datetime(2026, 7, 1, tzinfo=UTC)
    assert told_wait_s(Refusal(RefusalKind.RATE_LIMITED, retry_after_s=7.5), RULES, now) == 7.5
    assert told_wait_s(Refusal(RefusalKind.RATE_LIMITED), RULES, now) == 1
    assert told_wait_s(Refusal(RefusalKind.EXHAUSTED), RULES, now) == 600
    reset = Refusal(RefusalKind.EXHAUSTED, reset_at=now + timedelta(hours=2))
    assert told_wait_s(reset, RULES, now) == 7200
    assert told_wait_s(Refusal(RefusalKind.OVERLOADED), RULES, now) is None


def test_the_same_error_is_drawn_as_an_event_and_as_a_frame() -> None:
    error = said_no(RefusalKind.SERVER_ERROR)
    event = problem_event(error, HEARER)
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    assert json.loads(event[6:])["error"] == problem_frame(error, HEARER)["error"]


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        ("fr, ko;q=0.5", "ko"),
        ("en;q=1, ko;q=0.2", "en"),
        ("??", "en"),
    ],
)
def test_the_language_is_the_first_one_the_relay_speaks(header: str, language: str) -> None:
    assert language_of(header) == language


def test_every_code_has_words_and_advice() -> None:
    for code, entry in CATALOGUE.items():
        assert str(entry.message), code
        assert str(entry.advice), code
        assert entry.stage in {"request", "capacity", "provider", "quota", "configuration", "relay"}


def test_a_pause_is_told_with_its_message_in_words_and_as_a_member() -> None:
    told = Told(detail={"pause_message": "back at noon"})
    error = error_in(problem_response(AtTheDoor(told, code="provider_paused"), HEARER).content)
    assert error["message"] == "An administrator has paused this: back at noon"
    assert error["pause_message"] == "back at noon"


def test_a_detail_never_takes_the_place_of_a_member_of_the_contract() -> None:
    told = Told(detail={"message": "mine", "code": "mine", "estimate": 7})
    error = error_in(problem_response(AtTheDoor(told), HEARER).content)
    assert error["code"] == "gateway_overloaded"
    assert error["message"] == "The relay is full. Call again in a moment."
    assert error["estimate"] == 7
