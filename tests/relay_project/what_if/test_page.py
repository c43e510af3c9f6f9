"""The page beside a lane profile: who may ask, what is typed, what comes out; it changes nothing."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission
from django.db import connections
from django.test import Client

from accounts.models import User
from providers.models import Model, Provider
from relay_project.configuration import current_version
from relay_project.what_if import comparing
from scheduling.models import LaneProfile, ModelOverride, RelayLimits
from tests.relay_project.advisor.rows import book, make_provider, row

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.relay_project.admin_urls")]
NUMBERS = {
    "lanes": 2, "lanes_per_model": "", "max_waiting": 8, "wait_timeout_s": 60, "burst": 1, "rpm": "", "tpm": "",
    "reserve": 1,
}  # fmt: skip


@pytest.fixture
def provider() -> Provider:
    provider = make_provider("p")
    LaneProfile.objects.update(lanes=1, lanes_per_model=None, wait_timeout_s=15, max_waiting=8)
    provider.lane_profile.windows.all().delete()
    return provider


def signed_in(client: Client, *codenames: str) -> Client:
    user = User.objects.create(username="root", is_staff=True, is_superuser=not codenames)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def page_of(provider: Provider) -> str:
    return f"/admin/scheduling/laneprofile/{provider.lane_profile_id}/what-if/"


def asked(client: Client, provider: Provider, **typed: Any) -> Any:
    answer = client.post(page_of(provider), NUMBERS | typed)
    assert answer.status_code == 200
    return answer


def four_at_once() -> None:
    """Ten seconds each; on one lane with 15 s of patience two of them are sent away."""
    book(*(row(run_ms=10_000, ago=timedelta(hours=1, milliseconds=number)) for number in range(4)))


def lines_of(answer: Any) -> dict[str, tuple[str, str]]:
    return {line.name: (line.now, line.then) for line in answer.context["comparison"].lines}


def test_the_form_starts_from_the_profiles_own_numbers(client: Client, provider: Provider) -> None:
    form = signed_in(client).get(page_of(provider)).context["form"]
    assert (form["lanes"].value(), form["wait_timeout_s"].value(), form["rpm"].value()) == (1, 15, None)


def test_now_and_what_if_stand_side_by_side(client: Client, provider: Provider) -> None:
    four_at_once()
    answer = asked(signed_in(client), provider)
    lines = lines_of(answer)
    assert lines["Came"] == ("4", "4")
    assert lines["Started"] == ("2", "4")
    assert lines["Refused"] == ("2", "0")
    assert lines["waited in line until the time limit"] == ("2", "0")
    assert lines["Wait, 99 of 100 at most"] == ("10.0 s", "10.0 s")
    assert lines["Most running at once"] == ("1", "2")
    assert lines["Most started in a minute"] == ("2", "4")
    page = answer.content.decode()
    assert page.count('<svg viewBox="0 0 960') == 2
    assert 'aria-label="now: 4 came, 2 started, 2 were refused"' in page


def test_nothing_is_changed_by_asking(client: Client, provider: Provider) -> None:
    four_at_once()
    signed_in(client)
    before = current_version(), LaneProfile.objects.values().get()
    asked(client, provider, lanes=7, rpm=5)
    assert (current_version(), LaneProfile.objects.values().get()) == before


def test_seeing_the_profile_is_enough_to_ask(client: Client, provider: Provider) -> None:
    four_at_once()
    signed_in(client, "view_laneprofile")
    assert lines_of(asked(client, provider))["Started"] == ("2", "4")
    assert (
        "What if…" in client.get(f"/admin/scheduling/laneprofile/{provider.lane_profile_id}/change/").content.decode()
    )


def test_who_may_not_see_the_profile_may_not_ask(client: Client, provider: Provider) -> None:
    signed_in(client, "view_provider")
    assert client.get(page_of(provider)).status_code == 403
    assert client.post(page_of(provider), NUMBERS).status_code == 403


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({"lanes": 0}, {"lanes"}),
        ({"lanes": ""}, {"lanes"}),
        ({"lanes": 100_000}, {"lanes"}),
        ({"lanes_per_model": 3}, {"lanes_per_model"}),
        ({"wait_timeout_s": 0}, {"wait_timeout_s"}),
        ({"rpm": -1, "tpm": "many"}, {"rpm", "tpm"}),
        ({"reserve": 0.5}, {"reserve"}),
    ],
)
def test_bad_input_is_named_by_field(
    client: Client, provider: Provider, typed: dict[str, Any], wrong: set[str]
) -> None:
    four_at_once()
    answer = asked(signed_in(client), provider, **typed)
    assert set(answer.context["form"].errors) == wrong
    assert "comparison" not in answer.context


def test_a_quiet_day_says_so(client: Client, provider: Provider) -> None:
    assert "No request of the last day can be replayed" in asked(signed_in(client), provider).content.decode()


def test_a_profile_that_nobody_has_says_so(client: Client) -> None:
    profile = LaneProfile.objects.create(name="x", preset="custom", lanes=1, wait_timeout_s=1, run_timeout_s=1)
    answer = signed_in(client).get(f"/admin/scheduling/laneprofile/{profile.pk}/what-if/")
    assert "No provider has this lane profile" in answer.content.decode()


def test_an_unknown_profile_is_not_found(client: Client) -> None:
    assert signed_in(client).get("/admin/scheduling/laneprofile/99/what-if/").status_code == 404


def test_where_tokens_are_not_charged_there_is_nothing_to_type_for_them(client: Client, provider: Provider) -> None:
    LaneProfile.objects.update(charge_rule="requests_only")
    form = signed_in(client).get(page_of(provider)).context["form"]
    assert {"tpm", "reserve"}.isdisjoint(form.fields)
    four_at_once()
    assert lines_of(asked(client, provider, rpm=1))["Started"][1] == "1"


def test_tokens_a_minute_and_what_callers_set_aside_count(client: Client, provider: Provider) -> None:
    four_at_once()
    signed_in(client)
    roomy = lines_of(asked(client, provider, lanes=4, tpm=1000))
    tight = lines_of(asked(client, provider, lanes=4, tpm=1000, reserve=100))
    assert roomy["Wait, 99 of 100 at most"][1] == "0.0 s"
    assert tight["Wait, 99 of 100 at most"][1] != "0.0 s" or int(tight["Refused"][1]) > 0


def test_what_bounds_the_replay_is_told(client: Client, provider: Provider) -> None:
    four_at_once()
    RelayLimits.objects.create(max_running=3, max_inside=16)
    ModelOverride.objects.create(profile=provider.lane_profile, model=Model.objects.get(), burst=1)
    notes = " ".join(asked(signed_in(client), provider, lanes=9).context["notes"])
    assert "The whole relay lets 3 run and 16 in" in notes
    assert "Models with figures of their own keep them." in notes


@pytest.mark.django_db(transaction=True)
async def test_the_loop_goes_on_while_it_is_computed(async_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay is held back in its thread until the loop has been seen to turn."""
    turned, computing = threading.Event(), threading.Event()
    compare = comparing.replay

    def held_back(*arguments: Any) -> Any:
        computing.set()
        assert turned.wait(10), "the loop stood still"
        return compare(*arguments)

    monkeypatch.setattr(comparing, "replay", held_back)
    provider = await sync_to_async(make_provider)("p")
    await sync_to_async(four_at_once)()
    user = await User.objects.acreate(username="root", is_staff=True, is_superuser=True)
    await async_client.aforce_login(user)
    asking = asyncio.ensure_future(async_client.post(page_of(provider), NUMBERS))
    assert await asyncio.to_thread(computing.wait, 10)
    turned.set()
    assert (await asking).status_code == 200
    await sync_to_async(connections.close_all)()  # of the thread that served it
