"""`/queue/` as a page: who gets what, and what staff may do from it."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.utils import translation
from model_bakery import baker

from accounts.models import User
from relay_project.pages.queue_words import queue_words
from tests.relay_project.queue_fakes import FakeRelay, busy_afternoon

pytestmark = pytest.mark.django_db


@pytest.fixture
def member() -> User:
    return User.objects.create_user("minji")


@pytest.fixture
def staff() -> User:
    return User.objects.create_superuser("admin")


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch, member: User) -> FakeRelay:
    relay = FakeRelay(busy_afternoon(f"user:{member.pk}"))
    monkeypatch.setattr("relay_project.wiring._process", relay)
    return relay


def embedded(page: str, name: str) -> object:
    found = re.search(f'<script id="{name}" type="application/json">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def page_for(client: Client, user: User) -> str:
    client.force_login(user)
    answer = client.get("/queue/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_visitor_is_sent_to_sign_in_and_back(client: Client) -> None:
    answer = client.get("/", follow=True)
    assert answer.redirect_chain == [("/queue/", 302), ("/login/?next=/queue/", 302)]


def test_a_member_gets_its_own_rows_and_no_names_of_others(
    client: Client, relay: FakeRelay, member: User, staff: User
) -> None:
    page = page_for(client, member)
    assert [row["id"] for row in embedded(page, "queue-picture")["tickets"]] == ["t-mine"]  # type: ignore[index]
    assert embedded(page, "queue-owners") == {}
    assert "t-colleague" not in page
    assert 'class="cancel"' not in page


def test_staff_get_all_rows_with_names(client: Client, relay: FakeRelay, member: User, staff: User) -> None:
    page = page_for(client, staff)
    assert len(embedded(page, "queue-picture")["tickets"]) == 4  # type: ignore[index]
    assert embedded(page, "queue-owners") == {f"user:{member.pk}": "minji", f"user:{staff.pk}": "admin"}
    assert 'class="cancel"' in page


def test_the_page_has_no_inline_script_style_or_handler(client: Client, relay: FakeRelay, staff: User) -> None:
    page = page_for(client, staff)
    assert not re.search(r"<script(?![^>]*\b(src=|application/json))", page)
    assert not re.search(r"\s(on[a-z]+|style)=", page)
    assert not re.search(r'(src|href)="(https?:)?//', page)


def test_every_word_the_page_draws_with_is_there_in_both_languages() -> None:
    with translation.override("ko"):
        korean = queue_words()
    with translation.override("en"):
        english = queue_words()
    pairs = [(english[group][key], korean[group][key]) for group in english for key in english[group]]
    assert [word for word, other in pairs if word == other] == []
    assert all(sorted(re.findall(r"{\w+}", word)) == sorted(re.findall(r"{\w+}", other)) for word, other in pairs)


def test_staff_take_a_ticket_out_of_line(client: Client, relay: FakeRelay, staff: User) -> None:
    client.force_login(staff)
    answer = client.post("/queue/tickets/t-mine/cancel/")
    assert (answer.status_code, answer.json(), relay.cancelled) == (200, {"cancelled": True}, ["t-mine"])


def test_a_request_that_has_started_is_left_alone(client: Client, relay: FakeRelay, staff: User) -> None:
    client.force_login(staff)
    answer = client.post("/queue/tickets/l-mine/cancel/")
    assert (answer.status_code, answer.json(), relay.cancelled) == (404, {"cancelled": False}, [])


def test_a_member_may_not_cancel(client: Client, relay: FakeRelay, member: User) -> None:
    client.force_login(member)
    assert client.post("/queue/tickets/t-mine/cancel/").status_code == 403
    assert relay.cancelled == []


def test_cancelling_needs_the_forms_own_token_and_post(relay: FakeRelay, staff: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(staff)
    assert strict.post("/queue/tickets/t-mine/cancel/").status_code == 403
    assert strict.get("/queue/tickets/t-mine/cancel/").status_code == 405
    assert relay.cancelled == []


def test_a_lane_leads_staff_to_its_profile(client: Client, staff: User) -> None:
    profile = baker.make("scheduling.LaneProfile", name="gemini")
    baker.make("providers.Provider", slug="gemini", lane_profile=profile)
    client.force_login(staff)
    answer = client.get("/queue/providers/gemini/lanes/")
    assert answer["Location"] == f"/admin/scheduling/laneprofile/{profile.pk}/change/"


def test_a_lane_without_profile_leads_to_the_provider(client: Client, staff: User) -> None:
    provider = baker.make("providers.Provider", slug="codex", enabled=False, lane_profile=None)
    client.force_login(staff)
    answer = client.get("/queue/providers/codex/lanes/")
    assert answer["Location"] == f"/admin/providers/provider/{provider.pk}/change/"


def test_lanes_of_nothing_are_not_found_and_a_member_is_not_let_through(
    client: Client, staff: User, member: User
) -> None:
    client.force_login(staff)
    assert client.get("/queue/providers/nothing/lanes/").status_code == 404
    client.force_login(member)
    assert client.get("/queue/providers/nothing/lanes/").status_code == 403
