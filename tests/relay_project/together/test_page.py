"""“Try N at once” in the admin and its API: who may, what is asked, what is shown."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from providers.models import Model, Provider
from relay_project.api import provider_together
from relay_project.api.provider_together import lines_of
from relay_project.together.measure import Ended, Verdict, measure
from relay_project.together.sending import Asked
from relay_project.together.trial import Report, Stage
from tests.relay_project.advisor.rows import make_provider
from tests.relay_project.use_case_fakes import CALLER

pytestmark = pytest.mark.django_db
API = "/api/providers/p/together"
BODY = {"model": "p-m", "count": 3}
SECOND_US = 1_000_000


class FakeTrial:
    """Ends at once; `asked` is what was wanted of it."""

    asked: list[Asked] = []

    def __init__(self, parts: Any, refresh: Any, asked: Asked) -> None:
        self.asked.append(asked)

    async def report(self) -> Report:
        calls = [Ended(f"HERON-{n}", Verdict.RIGHT, "HERON", started_us=0, ended_us=SECOND_US) for n in range(3)]
        return Report(self.asked[-1], lanes=3, sent=3, measured=measure(1000, calls), others=0)

    async def progress(self) -> AsyncGenerator[Stage | Report, None]:
        yield Stage(alone=True, sent=1, running=1)
        yield await self.report()


@pytest.fixture(autouse=True)
def trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeTrial]]:
    class Relay:
        parts = None

        class keeper:
            refresh = None

    monkeypatch.setattr(provider_together, "get_relay", lambda: Relay)
    monkeypatch.setattr(provider_together, "Trial", FakeTrial)
    yield FakeTrial
    FakeTrial.asked.clear()


@pytest.fixture
def provider() -> Provider:
    return make_provider("p", lanes=4)


def signed_in(client: Client, *codenames: str) -> Client:
    user = User.objects.create(username="root", is_staff=True, is_superuser=not codenames)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def post(client: Client, body: Any = BODY, **headers: str) -> Any:
    return client.post(API, body, content_type="application/json", headers=headers)


def page_of(provider: Provider) -> str:
    return f"/admin/providers/provider/{provider.pk}/together/"


def test_the_page_warns_that_it_uses_real_quota_and_bounds_the_number(client: Client, provider: Provider) -> None:
    text = signed_in(client).get(page_of(provider)).content.decode()
    assert "They use the\n" in text or "account's quota" in text
    assert 'min="2" max="20" value="3"' in text
    assert f'action="{API}"' in text
    assert "<option>p-m</option>" in text
    assert f"/admin/scheduling/laneprofile/{provider.lane_profile_id}/change/" in text


def test_a_model_leads_to_the_page_with_itself_chosen(client: Client, provider: Provider) -> None:
    model = Model.objects.get()
    answer = signed_in(client).get(f"/admin/providers/model/{model.pk}/together/", follow=True)
    assert answer.redirect_chain[0][0] == f"{page_of(provider)}?model=p-m"
    assert "<option selected>p-m</option>" in answer.content.decode()


@pytest.mark.parametrize("off", ["provider", "model"])
def test_where_nothing_can_be_sent_the_page_says_why(client: Client, provider: Provider, off: str) -> None:
    (Provider if off == "provider" else Model).objects.update(enabled=False)
    text = signed_in(client).get(page_of(provider)).content.decode()
    assert f'action="{API}"' not in text
    assert ("The provider is off" if off == "provider" else "No model yet") in text


def test_the_report_comes_back_in_words(client: Client, provider: Provider, trial: type[FakeTrial]) -> None:
    answer = post(signed_in(client))
    assert answer.status_code == 200
    report = answer.json()
    assert (report["proposed_lanes"], report["lanes"], report["ok"]) == (3, 3, True)
    assert report["facts"][-1] == "3.0 × as fast as one after the other"
    assert report["proposal"].startswith("Proposed: 3 lanes")
    assert [(call["took"], call["against"], call["tone"]) for call in report["calls"]] == [
        ("1.0 s", "1.0 ×", "ready")
    ] * 3
    assert [(asked.model, asked.count) for asked in trial.asked] == [("p-m", 3)]


async def test_whoever_asks_for_lines_is_shown_every_step() -> None:
    asked = Asked("p-m", 3, CALLER, "en")
    lines = [json.loads(line) async for line in lines_of(lambda: FakeTrial(None, None, asked), "ko")]  # type: ignore[arg-type, return-value]
    assert [line["type"] for line in lines] == ["running", "done"]
    assert lines[1]["proposed_lanes"] == 3


async def test_a_fault_in_the_middle_is_told_as_the_last_line() -> None:
    class Broken(FakeTrial):
        async def report(self) -> Report:
            raise RuntimeError("a bug")

    asked = Asked("p-m", 3, CALLER, "en")
    lines = [json.loads(line) async for line in lines_of(lambda: Broken(None, None, asked), "en")]  # type: ignore[arg-type, return-value]
    assert [line["type"] for line in lines] == ["running", "error"]
    assert "a bug" not in json.dumps(lines)


def test_lines_are_streamed_to_whoever_accepts_them(client: Client, provider: Provider) -> None:
    answer = post(signed_in(client), accept="application/x-ndjson, application/json;q=0.5")
    assert (answer.status_code, answer["Content-Type"], answer.streaming) == (200, "application/x-ndjson", True)


@pytest.mark.parametrize(
    "body",
    [
        {"model": "p-m", "count": 1},
        {"model": "p-m", "count": 21},
        {"model": "p-m"},
        {"count": 3},
        {"model": "x", "count": 3},
        [],
    ],
)
def test_what_cannot_be_tried_is_a_clear_no(
    client: Client, provider: Provider, trial: type[FakeTrial], body: Any
) -> None:
    answer = post(signed_in(client), body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert trial.asked == []


@pytest.mark.parametrize("off", [Provider, Model])
def test_what_is_off_is_not_tried(client: Client, provider: Provider, trial: type[FakeTrial], off: Any) -> None:
    off.objects.update(enabled=False)
    assert post(signed_in(client)).status_code == 400
    assert trial.asked == []


def test_an_unknown_provider_is_not_found(client: Client) -> None:
    assert post(signed_in(client)).status_code == 404


def test_whoever_may_only_look_may_not_try(client: Client, provider: Provider, trial: type[FakeTrial]) -> None:
    signed_in(client, "view_provider", "view_model")
    assert client.get(page_of(provider)).status_code == 403
    assert client.get(f"/admin/providers/model/{Model.objects.get().pk}/together/").status_code == 403
    assert post(client).status_code == 403
    assert "Try N at once" not in client.get(f"/admin/providers/provider/{provider.pk}/change/").content.decode()
    assert trial.asked == []


def test_it_is_written_down_in_the_published_description(client: Client) -> None:
    signed_in(client)
    description = client.get("/api/schema", headers={"accept": "application/json"}).json()
    assert "/api/providers/{slug}/together" in description["paths"]
