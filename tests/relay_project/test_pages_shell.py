"""What all pages share: sign in and out, languages, error pages, look."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client, RequestFactory
from unfold.settings import CONFIG_DEFAULTS

from accounts.models import User
from relay_project.env import BASE_DIR
from relay_project.pages.errors import server_error


@pytest.fixture
def minji(db: None) -> User:
    return User.objects.create_user("minji", password="a long password", language="ko")


def test_signing_in_leads_to_where_one_wanted_to_go(client: Client, minji: User) -> None:
    answer = client.post("/login/?next=/usage/", {"username": "minji", "password": "a long password"})
    assert answer["Location"] == "/usage/"


def test_signing_in_leads_to_no_other_site(client: Client, minji: User) -> None:
    answer = client.post("/login/?next=//elsewhere.example/", {"username": "minji", "password": "a long password"})
    assert answer["Location"] == "/queue/"


def test_the_users_language_comes_along(client: Client, minji: User) -> None:
    answer = client.post("/login/", {"username": "minji", "password": "a long password"})
    assert answer.cookies["django_language"].value == "ko"


def test_signing_out_needs_a_post(client: Client, minji: User) -> None:
    client.force_login(minji)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/queue/").status_code == 302


def test_too_many_wrong_passwords_lock_out_and_say_until_when(client: Client, minji: User) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        answer = client.post("/login/", {"username": "minji", "password": "wrong"})
    assert (answer.status_code, answer["Retry-After"]) == (429, "900")
    assert "15 minutes" in answer.content.decode()
    assert client.post("/login/", {"username": "minji", "password": "a long password"}).status_code == 429


def test_the_language_switch_changes_the_page(client: Client, db: None) -> None:
    assert "Sign in" in client.get("/login/").content.decode()
    client.post("/i18n/setlang/", {"language": "ko", "next": "/login/"})
    page = client.get("/login/").content.decode()
    assert '<html lang="ko">' in page
    assert "로그인" in page


def test_a_missing_page_says_what_to_do(client: Client, db: None) -> None:
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert 'href="/queue/"' in answer.content.decode()


def test_a_missing_address_of_the_api_answers_as_the_api_does(client: Client, db: None) -> None:
    answer = client.get("/v1/nowhere")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_form_without_its_token_says_that_nothing_was_changed(db: None) -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "minji"})
    assert answer.status_code == 403
    assert "Nothing was changed" in answer.content.decode()


def test_the_page_for_our_own_mistakes_needs_no_database() -> None:
    answer = server_error(RequestFactory().get("/queue/"))
    assert answer.status_code == 500
    assert "The relay made a mistake" in answer.content.decode()


def test_our_own_mistakes_at_the_api_are_told_in_its_form() -> None:
    answer = server_error(RequestFactory().get("/api/queue"))
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/json")


def test_the_colours_are_unfolds_own() -> None:
    css = (BASE_DIR / "relay_project/static/relay/css/tokens.css").read_text()
    ours = dict(re.findall(r"--color-((?:base|primary)-\d+): (.*?);", css))
    theirs = {
        f"{name}-{weight}": value
        for name in ("base", "primary")
        for weight, value in CONFIG_DEFAULTS["COLORS"][name].items()
    }
    assert ours == theirs
