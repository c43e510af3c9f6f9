"""What people see of a refusal: no keys, and words that say what to do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from providers.contract import Refusal
from providers.reading.redaction import without_key
from providers.refusals import ProviderAnswer, explain, read_refusal

NOW = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)


def read(
    vendor: str, status: int | None, body: object = "", headers: dict[str, str] | None = None, **more: Any
) -> Refusal:
    now = more.pop("now", NOW)
    return read_refusal(ProviderAnswer(vendor, status, headers or {}, body, **more), now)


SPENT_DAY = {
    "error": {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota.",
        "details": [{"violations": [{"quotaId": "GenerateRequestsPerDay-FreeTier"}]}],
    }
}
SECRETS = (
    "sk-proj-abcDEF1234567890",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "nvapi-abcdefgh12345678",
    "gsk_abcdefgh12345678",
    "hf_abcdefgh12345678",
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("form", ["bad key {}", "url https://x.example/v1?key={}&a=1", "Authorization: Bearer {}"])
def test_keys_are_taken_out_of_everything_shown(secret: str, form: str) -> None:
    words = form.format(secret)
    refusal = read("openai", 401, {"error": {"message": words, "code": words, "quotaId": words}})
    assert secret not in f"{refusal} {explain(refusal)}"
    assert "…" in refusal.message


def test_any_value_after_key_or_bearer_is_masked() -> None:
    refusal = read("x", 401, {"error": {"message": "GET /a?b=1&key=Tr0ub4dor failed; Bearer correct.horse.battery"}})
    assert "Tr0ub4dor" not in refusal.message
    assert "horse" not in refusal.message


def test_a_key_that_looks_like_none_is_taken_out_by_heart() -> None:
    key = "4f3c9aa1b2"
    words = f"Incorrect API key provided: {key}."
    refusal = without_key(read("x", 401, {"error": {"message": words, "code": key, "quotaId": key}}), key)
    assert key not in f"{refusal} {explain(refusal)}"
    assert refusal.message == "Incorrect API key provided: …."


def test_a_place_holder_for_a_key_does_not_tear_words() -> None:
    refusal = read("x", 400, {"error": {"message": "ask again"}})
    assert without_key(refusal, "sk") == refusal


def test_an_explanation_says_what_it_means_when_and_why() -> None:
    words = explain(read("gemini", 429, SPENT_DAY))
    reset = ("19 h", "2026-10-02 07:00:00 UTC")
    for part in ("Used up", "per day", *reset, "GenerateRequestsPerDay-FreeTier", "code resource_exhausted"):
        assert part in words
