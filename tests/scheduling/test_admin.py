"""Lane profiles, overrides, limits, roles and quota states in the admin."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from providers.models import Model, Provider
from scheduling.models import LaneProfile, LaneWindow, ModelOverride, QuotaState, RelayLimits, Role
from scheduling.presets import create_profile

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.relay_project.admin_urls")]
NO_INLINES = {"windows-TOTAL_FORMS": 0, "windows-INITIAL_FORMS": 0}
NO_INLINES |= {"overrides-TOTAL_FORMS": 0, "overrides-INITIAL_FORMS": 0}


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def provider() -> Provider:
    return Provider.objects.create(
        slug="p", name="P", vendor="gemini", dialect="gemini", enabled=True, lane_profile=create_profile("gemini", "p")
    )


def figures(profile: LaneProfile, **changed: Any) -> dict[str, Any]:
    names = (
        "name", "note", "lanes", "lanes_per_model", "wait_timeout_s", "max_waiting", "fair_by", "run_timeout_s",
        "on_disconnect", "burst", "guard_ms", "charge_rule", "on_brief_refusal", "brief_default_s", "used_up_default_s",
    )  # fmt: skip
    present = {name: getattr(profile, name) for name in names}
    return {name: "" if value is None else value for name, value in present.items()} | NO_INLINES | changed


def page_of(row: Any) -> str:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"


def test_lanes_and_times_are_changed_and_the_profile_shows_its_provider(admin: Client, provider: Provider) -> None:
    profile = provider.lane_profile
    assert admin.post(page_of(profile), figures(profile, lanes=9, wait_timeout_s=5)).status_code == 302
    profile.refresh_from_db()
    assert (profile.lanes, profile.wait_timeout_s) == (9, 5)
    page = admin.get("/admin/scheduling/laneprofile/").content.decode()
    assert f"/admin/providers/provider/{provider.pk}/change/" in page
    assert "10 requests / minute · 250,000 input tokens / minute · 250 requests / day" in page


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"lanes": ""}, {"lanes"}),
        ({"lanes": 0}, {"lanes"}),
        ({"lanes_per_model": 99}, {"lanes_per_model"}),
        ({"wait_timeout_s": "long"}, {"wait_timeout_s"}),
        ({"on_disconnect": "drain"}, {"drain_s"}),
    ],
)
def test_bad_figures_are_named_by_field(
    changed: dict[str, Any], wrong: set[str], admin: Client, provider: Provider
) -> None:
    answer = admin.post(page_of(provider.lane_profile), figures(provider.lane_profile, **changed))
    assert set(answer.context["adminform"].form.errors) == wrong


def test_a_window_is_added_in_the_profile_and_a_bad_one_is_named(admin: Client, provider: Provider) -> None:
    profile = provider.lane_profile
    profile.windows.all().delete()
    window = {"windows-TOTAL_FORMS": 1, "windows-0-limit": 60, "windows-0-measure": "requests"}
    window |= {"windows-0-kind": "sliding", "windows-0-window_s": 60, "windows-0-scope": "model"}
    answer = admin.post(page_of(profile), figures(profile, **window, **{"windows-0-mode": "guess"}))
    assert "mode" in answer.context["inline_admin_formsets"][0].formset.errors[0]
    admin.post(page_of(profile), figures(profile, **window, **{"windows-0-mode": "enforced"}))
    assert str(LaneWindow.objects.get()) == "60 requests / minute"


def test_an_override_offers_only_models_of_its_provider_and_keeps_its_own_windows(
    admin: Client, provider: Provider
) -> None:
    profile = provider.lane_profile
    own = Model.objects.create(provider=provider, upstream_name="own")
    other = Provider.objects.create(slug="o", name="O", vendor="openai", dialect="openai_chat")
    foreign = Model.objects.create(provider=other, upstream_name="foreign")
    override = {"overrides-TOTAL_FORMS": 1, "overrides-0-lanes_per_model": 1}
    admin.post(page_of(profile), figures(profile, **override, **{"overrides-0-model": foreign.pk}))
    assert not ModelOverride.objects.exists()
    admin.post(page_of(profile), figures(profile, **override, **{"overrides-0-model": own.pk}))
    row = ModelOverride.objects.get()
    window = NO_INLINES | {"windows-TOTAL_FORMS": 1, "windows-0-limit": 5, "windows-0-measure": "requests"}
    window |= {"windows-0-kind": "sliding", "windows-0-window_s": 60, "windows-0-scope": "model"}
    answer = admin.post(page_of(row), {"lanes_per_model": 1, **window, "windows-0-mode": "enforced"})
    assert answer.status_code == 302
    made = LaneWindow.objects.get(model_override=row)
    assert made.profile == profile
    shown = admin.get(page_of(profile)).context["inline_admin_formsets"][0].formset.queryset
    assert made not in shown


def test_relay_limits_have_one_page_and_cannot_be_added_or_deleted(admin: Client) -> None:
    answer = admin.get("/admin/scheduling/relaylimits/")
    assert answer.url == page_of(RelayLimits.current())
    assert admin.get("/admin/scheduling/relaylimits/add/").status_code == 403
    answer = admin.post(answer.url, {"max_running": 9, "max_inside": 8})
    assert set(answer.context["adminform"].form.errors) == {"max_inside"}
    admin.post(page_of(RelayLimits.current()), {"max_running": 2, "max_inside": 5})
    assert RelayLimits.current().max_running == 2


def test_a_new_candidate_stands_last_unless_it_was_moved(admin: Client, provider: Provider) -> None:
    models = [Model.objects.create(provider=provider, upstream_name=name) for name in ("a", "b", "c")]
    role = Role.objects.create(name="fast-chat")
    for position, model in enumerate(models[:2]):
        role.candidates.create(model=model, position=position)
    inline: dict[str, Any] = {"candidates-TOTAL_FORMS": 3, "candidates-INITIAL_FORMS": 2}
    for place, row in enumerate(role.candidates.all()):
        inline |= {f"candidates-{place}-id": row.pk, f"candidates-{place}-model": row.model_id}
        inline |= {f"candidates-{place}-position": place, f"candidates-{place}-role": role.pk}
    inline |= {"candidates-2-model": models[2].pk, "candidates-2-position": 0}
    form = {"name": "fast-chat", "strategy": "ordered", "patience_s": 5, "enabled": "on"}
    assert admin.post(page_of(role), form | inline).status_code == 302
    assert [str(candidate) for candidate in role.candidates.all()] == ["a", "b", "c"]
    assert "a → b → c" in admin.get("/admin/scheduling/role/").content.decode()


@pytest.fixture
def closed(provider: Provider) -> QuotaState:
    until = timezone.now() + timedelta(hours=2)
    return QuotaState.objects.create(scope="provider", provider=provider, reason="exhausted", until=until)


def test_resetting_from_the_list_opens_again_and_writes_down_who_did_it(admin: Client, closed: QuotaState) -> None:
    address = "/admin/scheduling/quotastate/"
    assert "✕ closed" in admin.get(address).content.decode()
    admin.post(address, {"action": "reset_now", "_selected_action": [closed.pk]})
    closed.refresh_from_db()
    assert not closed.is_closed
    assert closed.history[-1]["event"] == "reset"
    assert closed.history[-1]["by"] == "root"
    assert "● open again" in admin.get(address).content.decode()


def test_the_button_resets_only_when_it_is_posted(admin: Client, closed: QuotaState) -> None:
    button = f"/admin/scheduling/quotastate/{closed.pk}/reset_this_now/"
    admin.get(button)
    closed.refresh_from_db()
    assert closed.is_closed
    admin.post(button, {"_form_submitted": "on"})
    closed.refresh_from_db()
    assert not closed.is_closed


def test_a_quota_state_cannot_be_written_by_hand(admin: Client, closed: QuotaState) -> None:
    assert admin.get("/admin/scheduling/quotastate/add/").status_code == 403
    admin.post(page_of(closed), {"reason": "billing"})
    closed.refresh_from_db()
    assert closed.reason == "exhausted"


@pytest.mark.parametrize(("state", "shown"), [("closed", True), ("open", False)])
def test_the_list_can_be_narrowed_to_what_is_closed(state: str, shown: bool, admin: Client, closed: QuotaState) -> None:
    changelist = admin.get("/admin/scheduling/quotastate/", {"state": state}).context["cl"]
    assert (closed in changelist.queryset) is shown


def test_a_role_is_offered_only_the_strategies_that_act(admin: Client) -> None:
    form = admin.get("/admin/scheduling/role/add/").context["adminform"].form
    assert [value for value, _ in form.fields["strategy"].choices] == ["ordered", "round_robin", "cheapest"]
    assert "cheapest_above_percent" not in form.fields
    answer = admin.post("/admin/scheduling/role/add/", {"name": "r", "strategy": "least_wait", "patience_s": 5})
    assert answer.status_code == 200
    assert not Role.objects.exists()
