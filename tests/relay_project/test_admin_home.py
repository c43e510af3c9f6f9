"""The admin's first page: a row a provider, the advisor's sentences, today's cost; at the very start four steps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from providers.models import Provider
from relay_project.models import LearnedLimit
from scheduling.models import LaneProfile
from tests.relay_project.advisor.rows import book, make_provider, row

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.relay_project.admin_urls")]
HOME = "/admin/"
NOT_CHECKED = "its connection has never been checked"


def signed_in(client: Client, *permissions: str) -> Client:
    """Staff with these permissions only; without any named: everything."""
    user = User.objects.create(username="root", is_staff=True, is_superuser=not permissions)
    for name in permissions:
        app, codename = name.split(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    client.force_login(user)
    return client


def text(client: Client, address: str = HOME) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_a_fresh_installation_is_shown_four_steps(client: Client) -> None:
    page = text(signed_in(client))
    assert "Four steps to the first answer" in page
    assert page.count('class="step-mark"') == 4
    assert "What does not fit together" not in page


def test_the_steps_tick_off_what_is_done_and_lead_to_what_is_next(client: Client) -> None:
    provider = make_provider()
    steps = signed_in(client).get(HOME).context["first_steps"]
    assert [step.done for step in steps] == [True, True, True, False]
    assert steps[1].href == f"/admin/providers/provider/{provider.pk}/connection/"


def test_a_test_call_or_probe_is_no_first_request(client: Client) -> None:
    make_provider()
    book(row(purpose="test"), row(purpose="probe"))
    assert "Four steps" in text(signed_in(client))


def test_there_is_a_row_for_each_provider(client: Client) -> None:
    make_provider("one")
    make_provider("two")
    book(row("one", queue_ms=1500, cost_microusd=2_500_000), row("one", outcome="rejected", run_ms=0))
    answer = signed_in(client).get(HOME)
    one, two = answer.context["providers"]
    assert (one.provider.slug, one.waits, one.refused) == ("one", "0.0 s / 1.5 s", "50.0\u00a0%")
    assert (two.waits, two.refused, two.used) == ("–", "–", "–")
    page = answer.content.decode()
    assert "● ready" in page
    assert "<b>$2.50</b> · 2 requests" in page


def test_lanes_are_told_even_where_this_process_runs_no_relay(client: Client) -> None:
    make_provider("one", lanes=5)
    book(row("one"))
    [one] = signed_in(client).get(HOME).context["providers"]
    assert (one.lanes.running, one.lanes.limit, one.lanes.pips) == (None, 5, [])


def test_the_advisor_speaks_on_the_first_page_with_the_way_to_put_it_right(client: Client) -> None:
    provider = make_provider("glm-cli", lanes=1, wait_timeout_s=60)
    book(*(row("glm-cli", run_ms=58_000) for _ in range(20)))
    page = text(signed_in(client))
    assert "GLM-CLI: 95 % of calls take up to 58 s, the line gives up after 60 s with 1 lane" in page
    assert f"/admin/scheduling/laneprofile/{provider.lane_profile_id}/change/" in page


def test_a_limit_that_the_provider_lowered_is_told(client: Client) -> None:
    make_provider("one")
    book(row("one"))
    now = timezone.now()
    LearnedLimit.objects.create(
        provider="one", source="told", measure="total_tokens", window_us=60_000_000, group="", account="",
        figure=20_000, configured=30_000, since=now, heard_at=now, until=now + timedelta(hours=1), revision=1,
    )  # fmt: skip
    assert "the provider has lowered your limit for now: 20,000 tokens a minute" in text(signed_in(client))


def test_the_number_of_queries_does_not_grow(client: Client) -> None:
    signed_in(client)
    counts = []
    for number in range(4):
        make_provider(f"p{number}")
        book(*(row(f"p{number}") for _ in range(5 + 20 * number)))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(HOME)
        counts.append(len(queries))
    assert len(set(counts)) == 1, counts
    assert counts[0] < 40


def test_who_may_see_providers_only_sees_no_costs_and_no_way_to_profiles(client: Client) -> None:
    make_provider("one", lanes=1, wait_timeout_s=1)
    Provider.objects.create(slug="new", name="New", vendor="openai", dialect="openai_chat", enabled=False)
    book(*(row("one", cost_microusd=2_500_000, run_ms=58_000) for _ in range(20)))
    page = text(signed_in(client, "providers.view_provider"))
    assert "● ready" in page
    assert "home-today" not in page
    assert "the line gives up after" in page
    assert "/admin/scheduling/laneprofile/" not in page
    assert "Check the connection" not in page


def test_who_may_not_see_providers_sees_the_plain_list(client: Client) -> None:
    make_provider("one")
    book(row("one"))
    page = text(signed_in(client, "accounts.view_usagerow"))
    assert "home-card" not in page
    assert "/admin/accounts/usagerow/" in page


@pytest.mark.parametrize("kind", ["provider", "laneprofile"])
def test_the_advisor_speaks_beside_the_provider_and_its_profile(client: Client, kind: str) -> None:
    make_provider("other", lanes=1, wait_timeout_s=1)
    provider = make_provider("one")
    Provider.objects.filter(pk=provider.pk).update(connection_state="unverified")
    book(*(row("other", run_ms=58_000) for _ in range(20)))
    pages = {
        "provider": f"/admin/providers/provider/{provider.pk}/change/",
        "laneprofile": f"/admin/scheduling/laneprofile/{provider.lane_profile_id}/change/",
    }
    page = text(signed_in(client), pages[kind])
    assert NOT_CHECKED in page
    assert "OTHER" not in page


def test_a_profile_without_a_provider_and_a_new_one_have_no_advice(client: Client) -> None:
    profile = LaneProfile.objects.create(name="x", preset="custom", lanes=1, wait_timeout_s=1, run_timeout_s=1)
    signed_in(client)
    for address in (f"/admin/scheduling/laneprofile/{profile.pk}/change/", "/admin/scheduling/laneprofile/add/"):
        assert 'class="sentences"' not in text(client, address)


def test_korean_staff_are_spoken_to_in_korean(client: Client, settings: Any) -> None:
    make_provider("one")
    Provider.objects.update(connection_state="unverified")
    book(row("one"))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "ko"
    page = text(signed_in(client))
    assert "ONE" in page
    assert NOT_CHECKED not in page
