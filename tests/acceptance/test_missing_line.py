"""A connection check that holds the only lane; and a provider without a lane profile: both are told, everywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from providers.models import Model, Provider
from providers.presets import VENDORS
from relay_project import checks
from relay_project.loading import load_configuration
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Granted, Left
from scheduling.core.spec import SchedulerSpec
from scheduling.core.tickets import Ask
from scheduling.core.verbs import Core
from scheduling.models import LaneProfile
from scheduling.presets import LANE_PRESETS, create_profile
from tests.acceptance.calls import new_word
from tests.acceptance.console import Console
from tests.acceptance.live import provider_in, queue_of
from tests.acceptance.one_lane import call, forget, held_on, one_lane, script, wait_until_held
from tests.acceptance.served import ServedRelay
from tests.acceptance.staff import Staff
from tests.acceptance.waiting import wait_until

LINE_S, CHECK_MS = 2, 3000
TIMED_OUT = {
    "en": "Waited in line until the time limit. Call again when the running requests "
    "(a connection check included) have ended.",
    "ko": "앞선 요청이 끝나기를 기다리다 대기 시간이 초과됐습니다. "
    "실행 중인 요청(연결 확인 포함)이 끝난 뒤 다시 호출하세요.",
}
SET_PROFILE = "UPDATE providers_provider SET lane_profile_id = %s WHERE slug = %s"
TYPED = {"lanes": 2, "wait_timeout_s": 60, "run_timeout_s": 60}


@pytest.fixture(scope="module")
def console(relay: ServedRelay) -> Iterator[Console]:
    with Console(relay) as console:
        yield console


@pytest.fixture
def provider(relay: ServedRelay, console: Console) -> Iterator[str]:
    forget(relay)
    with one_lane(relay, console, "short-line", LINE_S) as slug:
        yield slug
    forget(relay)


@pytest.mark.served
async def test_behind_a_connection_check_calls_and_test_calls_wait_to_the_limit_and_are_told_what_helps(
    relay: ServedRelay, console: Console, provider: str
) -> None:
    script(relay, f"fault=slow_first_byte({CHECK_MS})", "/v1/models")
    words = {language: new_word() for language in TIMED_OUT}
    with Staff(relay) as english, Staff(relay, "ko") as korean:
        checking = english.check(provider)
        wait_until_held(relay, provider, running=1, waiting=0)
        testing = {"en": english.test_call(provider, provider), "ko": korean.test_call(provider, provider)}
        answers = await asyncio.gather(
            *(call(relay, provider, word=word, Accept_Language=language) for language, word in words.items())
        )
        reports = {language: await asyncio.wrap_future(test) for language, test in testing.items()}
        assert (await asyncio.wrap_future(checking))["ok"]
    for language, answer in zip(words, answers, strict=True):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["stage"]) == (429, "provider_queue_timeout", "capacity")
        assert error["message"] == TIMED_OUT[language]
        assert int(answer.headers["retry-after-ms"]) == error["retry_after_ms"] >= 1000
    for language, report in reports.items():
        assert (report["ok"], report["code"], report["stage"]) == (False, "provider_queue_timeout", "capacity")
        assert (report["queue_ms"], report["run_ms"]) == (LINE_S * 1000, 0)
        assert report["message"] == TIMED_OUT[language]
    for word in words.values():
        row = console.row_of(word)
        assert (row["queue_ms"], row["run_ms"], row["stage"]) == (LINE_S * 1000, 0, "capacity")
    tests = "list(UsageRow.objects.filter(purpose='test').values_list('queue_ms', 'run_ms', 'stage', 'reason'))"
    wait_until(lambda: len(console.run(f"result = {tests}")) == 2, 5, "the test calls' rows")
    assert console.run(f"result = {tests}") == [[LINE_S * 1000, 0, "capacity", "provider_queue_timeout"]] * 2
    assert held_on(relay, provider) == (0, 0)


@pytest.fixture
def profile_lost(relay: ServedRelay, console: Console, provider: str) -> Iterator[str]:
    """Past the database's own constraint, as no form and no code of the relay can."""
    profile_id = console.run(f"result = LaneProfile.objects.get(name={provider!r}).pk")
    _set_profile(console, provider, None)
    wait_until(lambda: _state(relay, provider) == "unconfigured", 3, "the loss of the lane profile")
    yield provider
    _set_profile(console, provider, profile_id)


def _set_profile(console: Console, slug: str, profile_id: int | None) -> None:
    off = "PRAGMA ignore_check_constraints = ON", "PRAGMA ignore_check_constraints = OFF"
    if console.run("from django.db import connection; result = connection.vendor") == "postgresql":
        table, name = "providers_provider", "enabled_provider_has_lane_profile"
        rule = "CHECK (NOT enabled OR lane_profile_id IS NOT NULL) NOT VALID"
        off = (
            f"ALTER TABLE {table} DROP CONSTRAINT {name}",
            f"ALTER TABLE {table} ADD CONSTRAINT {name} {rule}",
        )
    console.run(f"""
        from django.db import connection
        from relay_project.configuration import bump
        with connection.cursor() as cursor:
            cursor.execute({off[0]!r})
            cursor.execute({SET_PROFILE!r}, [{profile_id}, {slug!r}])
            cursor.execute({off[1]!r})
        bump()
    """)


def _state(relay: ServedRelay, slug: str) -> str:
    found = provider_in(queue_of(relay), slug)
    return "" if found is None else str(found["state"]["word"])


@pytest.mark.served
async def test_a_lost_lane_profile_is_loud_for_callers_and_staff_and_in_the_system_check(
    relay: ServedRelay, profile_lost: str
) -> None:
    answer = await call(relay, profile_lost)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["stage"]) == (503, "lane_profile_missing", "configuration")
    assert profile_lost in error["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert "retry-after" not in answer.headers
    with Staff(relay) as staff:
        report = await asyncio.wrap_future(staff.check(profile_lost))
        assert (report["code"], report["stage"]) == ("lane_profile_missing", "configuration")
        assert "✕ lane profile missing" in staff.page("/admin/providers/provider/")
        assert '"unconfigured"' in staff.page("/queue/")
    checked = relay.manage("check", "--database", "default", check=False)
    assert checked.returncode != 0
    assert "relay.E001" in checked.stderr


def provider_of(key: str) -> Provider:
    """A provider of the preset, as the admin makes it, with one model."""
    slug, vendor = key.replace(".", "-"), VENDORS[key]
    profile = create_profile(key, slug, **(TYPED if key == "custom" else {}))
    provider = Provider.objects.create(
        slug=slug, name=slug, vendor=key, dialect=vendor.dialect, enabled=True, lane_profile=profile
    )
    Model.objects.create(provider=provider, upstream_name="m", public_name=f"m-{slug}")
    return provider


def _spec() -> SchedulerSpec:
    spec = load_configuration().scheduler
    assert spec is not None
    return spec


def _first_event(spec: SchedulerSpec, slug: str) -> object:
    now = Moment(0, 0)
    asked = Ask(ticket_id="t", provider=slug, model=f"{slug}/m", flow="user:1")
    return Core(spec, now).line_up(asked, now).events[0]


@pytest.mark.django_db
def test_every_preset_in_the_assembled_relay_has_lanes_and_times_that_fit() -> None:
    providers = {key: provider_of(key) for key in VENDORS}
    assert [finding for finding in checks.check_rows(databases=["default"]) if finding.id != "relay.W006"] == []
    spec = _spec()
    for key, provider in providers.items():
        rules, vendor = spec.providers[provider.slug].rules, VENDORS[key]
        assert rules is not None, key
        assert rules.run_timeout_us > (vendor.adapter_cap_s or 0) * 1_000_000, key
        assert rules.wait_timeout_us >= vendor.typical_call_s * 1_000_000, key
        assert isinstance(_first_event(spec, provider.slug), Granted), key


@pytest.mark.django_db
@pytest.mark.parametrize("key", sorted(LANE_PRESETS))
def test_with_its_profile_taken_away_nothing_of_the_preset_starts(key: str) -> None:
    provider = provider_of(key)
    Provider.objects.filter(pk=provider.pk).update(enabled=False, lane_profile=None)
    LaneProfile.objects.filter(pk=provider.lane_profile_id).delete()
    event = _first_event(_spec(), provider.slug)
    assert isinstance(event, Left)
    assert event.code == "lane_profile_missing"


@pytest.mark.django_db
@pytest.mark.parametrize("key", sorted(set(LANE_PRESETS) - {"custom"}))
def test_with_figures_that_do_not_fit_the_check_of_the_rows_turns_red(key: str) -> None:
    vendor = VENDORS[key]
    LaneProfile.objects.filter(provider=provider_of(key)).update(
        run_timeout_s=vendor.adapter_cap_s, wait_timeout_s=vendor.typical_call_s - 1
    )
    found = {finding.id for finding in checks.check_rows(databases=["default"])} - {"relay.W006"}
    assert found == {"relay.E002", "relay.W003"}
