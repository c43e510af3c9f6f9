"""The connection's page and buttons in the admin, and their API: who may, what is asked, what is shown and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from accounts.models import User
from providers.models import ConnectionState, Model, Provider
from relay_project import admin_connections
from relay_project.api import provider_connection
from relay_project.connection_report import CheckReport, report_of_error, write_down
from relay_project.connection_run import Run
from relay_project.connection_words import report_in_words, waiting_words
from scheduling.clock import SystemClock
from scheduling.errors import GaveUpWaiting, Told
from scheduling.presets import create_profile
from scheduling.watching import Waiting

pytestmark = pytest.mark.django_db
LIST = "/admin/providers/provider/"
CHECK, TEST = "/api/providers/p/check", "/api/providers/p/test"


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def provider() -> Provider:
    provider = Provider.objects.create(
        slug="p",
        name="P",
        vendor="ollama",
        dialect="openai_chat",
        enabled=True,
        lane_profile=create_profile("ollama", "p"),
    )
    for name in ("b", "a"):
        Model.objects.create(provider=provider, upstream_name=name)
    return provider


class FakeConnections:
    """Answers at once; `asked` is what was wanted of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.report = CheckReport(ok=True, models=("m",), run_ms=200)
        self.hangs = False

    def check(self, slug: str, language: str) -> Run:
        return self._run("check", slug, language)

    def test_call(self, model: str, caller: Any, language: str) -> Run:
        return self._run("test", model, language)

    def _run(self, *asked: str) -> Run:
        self.asked.append(asked)  # type: ignore[arg-type]
        return Run(SystemClock(), self._work, outlives=False)

    async def _work(self, run: Run) -> CheckReport:
        if self.hangs:
            await asyncio.Event().wait()
        return self.report


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeConnections]:
    class Relay:
        connections = FakeConnections()

    monkeypatch.setattr(provider_connection, "get_relay", lambda: Relay)
    monkeypatch.setattr(admin_connections, "get_relay", lambda: Relay)
    return Relay.connections  # type: ignore[return-value]


def page(provider: Provider, name: str) -> str:
    return f"/admin/providers/provider/{provider.pk}/{name}/"


def test_the_page_has_both_buttons_and_says_how_it_stands(admin: Client, provider: Provider) -> None:
    text = admin.get(page(provider, "connection")).content.decode()
    assert f'action="{CHECK}"' in text
    assert f'action="{TEST}"' in text
    assert "not checked yet" in text
    assert [text.index(f"<option>{name}</option>") for name in "ab"]


def test_a_provider_that_is_off_can_be_checked_but_not_test_called(admin: Client, provider: Provider) -> None:
    Provider.objects.update(enabled=False)
    text = admin.get(page(provider, "connection")).content.decode()
    assert f'action="{CHECK}"' in text
    assert f'action="{TEST}"' not in text
    assert "enable it first" in text


def test_a_check_answers_with_its_report_in_the_readers_language(
    admin: Client, provider: Provider, connections: FakeConnections
) -> None:
    answer = admin.post(CHECK, content_type="application/json", headers={"accept-language": "ko"})
    assert answer.status_code == 200
    assert (answer.json()["ok"], answer.json()["models"], answer.json()["run_ms"]) == (True, ["m"], 200)
    assert connections.asked == [("check", "p", "ko")]


def test_a_test_call_goes_to_the_named_model_or_to_the_first(
    admin: Client, provider: Provider, connections: FakeConnections
) -> None:
    for body in ({}, {"model": "b"}):
        assert admin.post(TEST, body, content_type="application/json").status_code == 200
    assert [asked[1] for asked in connections.asked] == ["a", "b"]


@pytest.mark.parametrize("body", [{"model": "of another provider"}, {"model": 7}, [], {"model": ["a"]}])
def test_a_test_call_to_what_is_not_there_is_a_clear_no(
    admin: Client, provider: Provider, connections: FakeConnections, body: Any
) -> None:
    answer = admin.post(TEST, body, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert connections.asked == []


def test_an_unknown_provider_is_not_found(admin: Client, connections: FakeConnections) -> None:
    for address in (CHECK, TEST):
        assert admin.post(address, content_type="application/json").status_code == 404


def test_only_staff_who_may_change_providers_may_press(
    client: Client, provider: Provider, connections: FakeConnections
) -> None:
    assert client.post(CHECK).status_code in (401, 403)
    user = User.objects.create(username="someone", is_staff=True)
    client.force_login(user)
    for address in (CHECK, TEST):
        assert client.post(address, content_type="application/json").status_code == 403
    assert client.get(page(provider, "connection")).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="change_provider"))
    assert client.post(CHECK, content_type="application/json").status_code == 200
    user.is_staff = False
    user.save()
    assert client.post(CHECK, content_type="application/json").status_code == 403


def test_a_press_without_the_pages_token_is_refused(provider: Provider, connections: FakeConnections) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    assert strict.post(CHECK, content_type="application/json").status_code == 403
    assert connections.asked == []


def test_several_are_checked_from_the_list(admin: Client, provider: Provider, connections: FakeConnections) -> None:
    connections.report = CheckReport(ok=False, stage="install", dialect="fal")
    answer = admin.post(LIST, {"action": "check_connections", "_selected_action": [provider.pk]}, follow=True)
    assert connections.asked == [("check", "p", "en")]
    assert "P: No connection – The relay does not speak the dialect “fal” yet" in answer.content.decode()


def test_what_takes_longer_than_the_list_waits_is_said_to_go_on(
    admin: Client, provider: Provider, connections: FakeConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections.hangs = True
    monkeypatch.setattr("relay_project.admin.connection.WAITED_FOR_S", 0.01)
    answer = admin.post(LIST, {"action": "check_connections", "_selected_action": [provider.pk]}, follow=True)
    assert "P: still under way" in answer.content.decode()


def test_several_are_test_called_each_on_its_first_model(
    admin: Client, provider: Provider, connections: FakeConnections
) -> None:
    bare = Provider.objects.create(slug="bare", name="Bare", vendor="openai", dialect="openai_chat")
    connections.report = CheckReport(purpose="test", ok=True, said="ready")
    chosen = {"action": "send_test_calls", "_selected_action": [provider.pk, bare.pk]}
    text = admin.post(LIST, chosen, follow=True).content.decode()
    assert connections.asked == [("test", "a", "en")]
    assert "P: The model answered" in text
    assert "Bare: it is off" in text


def test_pausing_from_the_page_keeps_the_message_and_resuming_clears_it(admin: Client, provider: Provider) -> None:
    form = {"_form_submitted": "on", "message": "back at noon"}
    answer = admin.post(page(provider, "pause_this"), form)
    assert answer.headers["HX-Redirect"] == page(provider, "change")
    provider.refresh_from_db()
    assert (provider.paused, provider.pause_message) == (True, "back at noon")
    change = admin.get(page(provider, "change")).content.decode()
    assert page(provider, "resume_this") in change
    assert page(provider, "pause_this") not in change
    admin.post(page(provider, "resume_this"), {"_form_submitted": "on"})
    provider.refresh_from_db()
    assert (provider.paused, provider.pause_message) == (False, "")


def test_opening_a_dialog_changes_nothing(admin: Client, provider: Provider) -> None:
    assert admin.get(page(provider, "pause_this")).status_code == 200
    provider.refresh_from_db()
    assert not provider.paused


def test_a_found_connection_is_written_down_with_its_models(provider: Provider) -> None:
    now = timezone.now()
    write_down("p", CheckReport(ok=True, models=("m",), queue_ms=100, run_ms=200), "", now)
    provider.refresh_from_db()
    assert (provider.connection_state, provider.verified_at) == (ConnectionState.VERIFIED, now)
    assert (provider.upstream_models, provider.last_check_ms) == (["m"], 300)


def test_a_broken_one_keeps_the_models_and_a_congested_one_keeps_everything(provider: Provider) -> None:
    now = timezone.now()
    write_down("p", CheckReport(ok=True, models=("m",)), "", now)
    write_down("p", CheckReport(ok=False, stage="capacity", code="provider_queue_timeout", queue_ms=2000), "x", now)
    provider.refresh_from_db()
    assert (provider.connection_state, provider.failed_reason) == (ConnectionState.VERIFIED, "")
    write_down("p", CheckReport(ok=False, stage="install", dialect="fal"), "y" * 900, now)
    provider.refresh_from_db()
    assert (provider.connection_state, provider.failed_stage) == (ConnectionState.FAILED, "install")
    assert (len(provider.failed_reason), provider.upstream_models) == (500, ["m"])


def test_a_provider_that_was_deleted_meanwhile_is_no_error() -> None:
    write_down("gone", CheckReport(ok=True), "", timezone.now())


def waiting(reason: str, predicted_s: int | None = None) -> Waiting:
    predicted_us = None if predicted_s is None else predicted_s * 1_000_000
    return Waiting(2, 5_000_000, predicted_us, reason, running=3, limit=3, waiting=4)


@pytest.mark.parametrize(
    ("stands", "passed_us", "english", "korean"),
    [
        (waiting("pace", 8), 2_500_000, "⏳ Waiting… next request in 6 s", "⏳ 대기 중… 다음 요청까지 6초"),
        (waiting("tokens", 1), 9_000_000, "⏳ Waiting… next request in 0 s", "⏳ 대기 중… 다음 요청까지 0초"),
        (
            waiting("model", 8),
            2_500_000,
            "Waiting… starts when the running ones end (running 3/3 · waiting 4 · 7 s gone)",
            "대기 중… 앞선 요청이 끝나면 시작합니다 (실행 3/3 · 대기 4건 · 7초 경과)",
        ),
    ],
)
def test_a_wait_is_told_in_the_agreed_words(stands: Waiting, passed_us: int, english: str, korean: str) -> None:
    assert waiting_words(stands, passed_us, "en") == english
    assert waiting_words(stands, passed_us, "ko") == korean


def test_a_report_says_what_was_found_and_how_long_it_took() -> None:
    report = CheckReport(ok=True, models=("m", "n"), queue_ms=800, run_ms=75_000)
    assert report_in_words(report, "en")["facts"] == ["2 models found", "800 ms in line", "took 1 min 15 s"]
    assert report_in_words(report, "ko")["facts"] == ["모델 2개를 찾았습니다", "대기 800ms", "걸린 시간 1분 15초"]


def test_a_report_says_at_what_stage_it_failed_and_when_to_come_back() -> None:
    told = Told(retry_after_us=12_000_000, queue_us=2_000_000)
    words = report_in_words(report_of_error(GaveUpWaiting(told, provider="p")), "en")
    assert words["headline"] == "Not checked this time; the connection's state stays as it was"
    assert words["facts"] == [
        "2.0 s in line",
        "failed at: in line, before the provider was asked",
        "worth another try in 12 s",
    ]
    assert (words["queue_ms"], words["run_ms"], words["retry_after_ms"]) == (2000, 0, 12_000)
