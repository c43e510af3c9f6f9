"""An administrator pastes a refusal and reads how the relay reads it."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from accounts.models import User
from relay_project.pages.refusals import EFFECT_WORDS
from relay_project.quota.consequences import Effect

pytestmark = pytest.mark.django_db

GEMINI_DAY = {
    "error": {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38s"},
        ],
    }
}


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("admin", password="x"))
    return client


def paste(client: Client, **fields: object) -> str:
    form = {"vendor": "gemini", "status": 429, "headers": "", "body": json.dumps(GEMINI_DAY)} | fields
    return client.post("/refusals/", form).content.decode()


def test_a_daily_refusal_is_read_as_used_up_whatever_its_hint_says(admin: Client) -> None:
    page = paste(admin)
    assert "exhausted · day" in page
    assert "insufficient_quota" in page
    assert str(EFFECT_WORDS[Effect.USED_UP]) in page


def test_headers_count_and_a_line_without_a_colon_is_named(admin: Client) -> None:
    page = paste(admin, vendor="openai", headers="Retry-After: 7", body='{"error":{"code":"rate_limit_exceeded"}}')
    assert "rate_limited" in page
    assert "7 s" in page
    assert "no colon: nonsense" in paste(admin, headers="nonsense")


def test_hostile_pastes_are_read_without_harm(admin: Client) -> None:
    page = paste(admin, body="<script>alert(1)</script>" * 100)
    assert "<script>alert" not in page


def test_only_staff_may(client: Client) -> None:
    assert client.get("/refusals/").status_code == 302
    client.force_login(User.objects.create_user("member"))
    assert client.get("/refusals/").status_code == 403


def test_every_effect_has_words() -> None:
    assert set(EFFECT_WORDS) == set(Effect)
