"""`GET /api/queue`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens import hash_token
from relay_project.snapshot import Caller
from tests.relay_project.queue_fakes import FakeConfiguration, FakeRelay, busy_afternoon, caller

pytestmark = pytest.mark.django_db
TOKEN = "rk-" + "a" * 43
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> FakeRelay:
    relay = FakeRelay(busy_afternoon("user:1"))
    monkeypatch.setattr("relay_project.wiring._process", relay)
    return relay


@pytest.fixture
def allow(relay: FakeRelay) -> Callable[[Caller], None]:
    def allow(holder: Caller) -> None:
        relay.configuration = FakeConfiguration(callers={hash_token(TOKEN): holder})

    return allow


def test_a_token_sees_its_own(client: Client, allow: Callable[[Caller], None]) -> None:
    allow(caller(1))
    answer = client.get("/api/queue", headers=BEARER)
    assert [row["id"] for row in answer.json()["tickets"]] == ["t-mine"]
    assert answer["Cache-Control"] == "no-store"


def test_a_staff_token_sees_all(client: Client, allow: Callable[[Caller], None]) -> None:
    allow(caller(9, is_staff=True))
    assert len(client.get("/api/queue", headers=BEARER).json()["tickets"]) == 4


def test_a_session_sees_its_own_and_staff_see_all(client: Client, relay: FakeRelay) -> None:
    member, staff = User.objects.create_user("minji"), User.objects.create_user("admin", is_staff=True)
    relay.coordinator.picture = busy_afternoon(f"user:{member.pk}")
    client.force_login(member)
    assert [row["id"] for row in client.get("/api/queue").json()["tickets"]] == ["t-mine"]
    client.force_login(staff)
    assert len(client.get("/api/queue").json()["tickets"]) == 4


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer rk-unknown"}])
def test_nobody_is_told_how_to_authenticate(client: Client, relay: FakeRelay, headers: dict[str, str]) -> None:
    answer = client.get("/api/queue", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert answer["WWW-Authenticate"] == "Bearer"


def test_a_token_without_the_scope_is_refused(client: Client, allow: Callable[[Caller], None]) -> None:
    allow(caller(1, scopes=frozenset({"chat", "models"})))
    assert client.get("/api/queue", headers=BEARER).status_code == 403


def test_only_get_is_there(client: Client, allow: Callable[[Caller], None]) -> None:
    allow(caller(1))
    answer = client.post("/api/queue", headers=BEARER)
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


def test_polls_share_one_picture(client: Client, relay: FakeRelay, allow: Callable[[Caller], None]) -> None:
    allow(caller(1))
    for _ in range(5):
        client.get("/api/queue", headers=BEARER)
    assert relay.coordinator.taken == 1
