"""A person's connection check among requests: ahead of who waits, never in the way of who runs, once at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.calls import new_word
from tests.acceptance.console import Console
from tests.acceptance.one_lane import arrivals, call, forget, one_lane, script, wait_until_held
from tests.acceptance.served import ServedRelay
from tests.acceptance.staff import Staff
from tests.acceptance.waiting import wait_until

pytestmark = pytest.mark.served

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
STATE = ("connection_state", "failed_stage", "failed_reason", "upstream_models")


@pytest.fixture(scope="module")
def console(relay: ServedRelay) -> Iterator[Console]:
    with Console(relay) as console:
        yield console


@pytest.fixture
def staff(relay: ServedRelay) -> Iterator[Staff]:
    with Staff(relay) as staff:
        yield staff


@pytest.fixture
def patient(relay: ServedRelay, console: Console) -> Iterator[str]:
    forget(relay)
    with one_lane(relay, console, "patient", wait_s=30) as slug:
        yield slug
    forget(relay)


@pytest.fixture
def hasty(relay: ServedRelay, console: Console) -> Iterator[str]:
    forget(relay)
    with one_lane(relay, console, "hasty", wait_s=1) as slug:
        yield slug
    forget(relay)


async def test_a_check_goes_ahead_of_normal_and_batch_and_stops_nothing_and_a_second_press_joins(
    relay: ServedRelay, staff: Staff, patient: str
) -> None:
    script(relay, "ttft_ms=2500", CHAT)
    words = {name: new_word() for name in ("running", "normal", "batch")}
    running = asyncio.ensure_future(call(relay, patient, word=words["running"]))
    await asyncio.to_thread(wait_until_held, relay, patient, 1, 0)
    waiting = []
    for number, klass in enumerate(("normal", "batch"), start=1):
        waiting.append(asyncio.ensure_future(call(relay, patient, word=words[klass], X_Relay_Class=klass)))
        await asyncio.to_thread(wait_until_held, relay, patient, 1, number)
    presses = [staff.check(patient), staff.check(patient)]
    await asyncio.to_thread(wait_until_held, relay, patient, 1, 3)
    reports = [await asyncio.wrap_future(press) for press in presses]
    answers = [await running, *[await one for one in waiting]]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert words["running"] in answers[0].text, "what ran was not stopped"
    assert all(report["ok"] for report in reports)
    assert reports[0] == reports[1]
    came = [(arrival["path"], arrival["code_word"]) for arrival in arrivals(relay)]
    assert [path for path, _ in came] == [CHAT, MODELS, CHAT, CHAT]
    assert [word for path, word in came if path == CHAT] == list(words.values())


async def test_while_it_waits_a_person_sees_every_second_where_it_stands(
    relay: ServedRelay, staff: Staff, patient: str
) -> None:
    script(relay, "ttft_ms=2500", CHAT)
    running = asyncio.ensure_future(call(relay, patient))
    await asyncio.to_thread(wait_until_held, relay, patient, 1, 0)
    lines = await asyncio.to_thread(staff.lines, f"/api/providers/{patient}/check")
    shown = [line["words"] for line in lines if line["type"] == "waiting"]
    assert shown[0] == "Waiting… starts when the running ones end (running 1/1 · waiting 1 · 0 s gone)"
    assert any("1 s gone" in words for words in shown)
    assert (lines[-1]["type"], lines[-1]["ok"]) == ("done", True)
    assert (await running).status_code == 200


async def test_congestion_and_used_up_quota_leave_the_state_and_the_models_as_they_were(
    relay: ServedRelay, console: Console, staff: Staff, hasty: str
) -> None:
    assert (await asyncio.wrap_future(staff.check(hasty)))["ok"]
    verified = _state(console, hasty)
    assert verified["connection_state"] == "verified"
    assert verified["upstream_models"]

    script(relay, "ttft_ms=2500", CHAT)
    running = asyncio.ensure_future(call(relay, hasty))
    await asyncio.to_thread(wait_until_held, relay, hasty, 1, 0)
    report = await asyncio.wrap_future(staff.check(hasty))
    assert (report["code"], report["queue_ms"], report["run_ms"]) == ("provider_queue_timeout", 1000, 0)
    assert _state(console, hasty) == verified
    assert (await running).status_code == 200

    for fault, stage in (("429(quota)", "quota"), ("429", "provider")):
        script(relay, f"fault={fault}", MODELS)
        report = await asyncio.wrap_future(staff.check(hasty))
        assert (report["ok"], report["stage"]) == (False, stage)
        assert _state(console, hasty) == verified


async def test_a_refused_key_is_a_failed_connection_with_stage_and_reason_and_the_next_check_clears_it(
    relay: ServedRelay, console: Console, staff: Staff, hasty: str
) -> None:
    script(relay, "fault=401", MODELS)
    report = await asyncio.wrap_future(staff.check(hasty))
    failed = _state(console, hasty)
    assert (failed["connection_state"], failed["failed_stage"]) == ("failed", "auth")
    assert failed["failed_reason"] == report["message"]
    assert (await asyncio.wrap_future(staff.check(hasty)))["ok"]
    assert _state(console, hasty)["connection_state"] == "verified"


async def test_a_provider_without_a_model_and_one_that_is_off_can_be_checked(
    relay: ServedRelay, console: Console, staff: Staff, hasty: str
) -> None:
    console.run(f"""
        Model.objects.filter(provider__slug={hasty!r}).delete()
        provider = Provider.objects.get(slug={hasty!r})
        provider.enabled = False
        provider.save()
    """)
    assert (await asyncio.wrap_future(staff.check(hasty)))["ok"]
    answer = staff.press(f"/api/providers/{hasty}/test")
    assert answer.status_code == 400
    assert "off" in answer.json()["error"]["message"]


async def test_a_revoked_token_loses_what_waits_and_what_runs_within_a_second(
    relay: ServedRelay, console: Console, patient: str
) -> None:
    token = "rk-" + "revoked-" * 6 + "1"
    console.run(f"""
        from accounts.tokens import describe_token
        new = describe_token({token!r})
        PersonalToken.objects.create(
            user=User.objects.get(username="member"), name="short-lived", prefix=new.prefix, sha256=new.sha256
        )
    """)
    script(relay, "ttft_ms=20000", CHAT)
    await _until_known(relay, token)
    calls = [asyncio.ensure_future(call(relay, patient, Authorization=f"Bearer {token}")) for _ in range(2)]
    await asyncio.to_thread(wait_until_held, relay, patient, 1, 1)
    console.run("""
        from django.utils import timezone
        token = PersonalToken.objects.get(name="short-lived")
        token.revoked_at = timezone.now()
        token.save()
    """)
    answers = await asyncio.wait_for(asyncio.gather(*calls), 1)
    assert [answer.json()["error"]["code"] for answer in answers] == ["ticket_cancelled"] * 2
    [arrival] = await asyncio.to_thread(_ended, relay)
    assert arrival["outcome"] == "aborted_by_client"
    await asyncio.to_thread(wait_until_held, relay, patient, 0, 0)
    console.run("PersonalToken.objects.filter(name='short-lived').delete()")


async def test_a_change_in_the_admin_acts_at_once_in_its_own_process(
    relay: ServedRelay, console: Console, staff: Staff, patient: str
) -> None:
    """Paused by its dialog: the very next call is refused, without a poll in between."""
    pk = console.run(f"result = Provider.objects.get(slug={patient!r}).pk")
    address = f"/admin/providers/provider/{pk}/pause_this/"
    staff.submit(address, {"_form_submitted": "on", "message": "back at noon"})
    answer = await call(relay, patient)
    assert answer.json()["error"]["code"] == "provider_paused"
    assert "back at noon" in answer.json()["error"]["message"]


def _state(console: Console, slug: str) -> dict[str, object]:
    state: dict[str, object] = console.run(f"result = Provider.objects.filter(slug={slug!r}).values(*{STATE!r}).get()")
    return state


def _ended(relay: ServedRelay) -> list[object]:
    return wait_until(
        lambda: [one for one in arrivals(relay) if one["outcome"] != "running"], 2, "the end of the upstream call"
    )  # type: ignore[return-value]


async def _until_known(relay: ServedRelay, token: str) -> None:
    def listed() -> bool:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(f"{relay.api_url}/models", headers=headers, trust_env=False).status_code == 200

    await asyncio.to_thread(wait_until, listed, 3, "the new token")
