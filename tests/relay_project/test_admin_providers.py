"""Adding a provider from a preset, and its page."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from providers.models import Credential, Model, Provider
from providers.presets import VENDORS
from relay_project.admin.connect import free_slug
from relay_project.configuration import current_version
from scheduling.models import LaneProfile
from scheduling.presets import LANE_PRESETS

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.relay_project.admin_urls")]
ADD = "/admin/providers/provider/add/"
LIST = "/admin/providers/provider/"
KEY = "sk-very-secret-key"


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


def typed(**fields: Any) -> dict[str, Any]:
    empty = {"vendor": "", "name": "", "base_url": "", "api_key": "", "lanes": "", "wait_timeout_s": ""}
    return empty | {"run_timeout_s": ""} | fields


def errors_of(answer: Any) -> set[str]:
    assert answer.status_code == 200, "the form was accepted"
    return set(answer.context["adminform"].form.errors)


def page_of(provider: Provider) -> str:
    return f"/admin/providers/provider/{provider.pk}/change/"


def unchanged(provider: Provider, **fields: Any) -> dict[str, Any]:
    """The change form as a browser would send it back, with some fields changed."""
    inlines = {}
    for prefix in ("credentials", "models"):
        inlines |= {f"{prefix}-TOTAL_FORMS": 0, f"{prefix}-INITIAL_FORMS": 0}
    own = {"name": provider.name, "base_url": provider.base_url, "lane_profile": provider.lane_profile_id or ""}
    flags = {"enabled": "on"} if provider.enabled else {}
    return own | flags | inlines | fields


@pytest.mark.parametrize("key", sorted(set(LANE_PRESETS) - {"custom"}))
def test_every_preset_makes_an_enabled_provider_with_its_lane_profile_and_key(key: str, admin: Client) -> None:
    address = "" if VENDORS[key].base_url else "https://upstream.example/v1/"
    answer = admin.post(ADD, typed(vendor=key, name="My own", base_url=address, api_key=KEY))
    provider = Provider.objects.get()
    assert answer.status_code == 302
    assert answer.url == page_of(provider)
    assert (provider.slug, provider.vendor, provider.enabled) == ("my-own", key, True)
    assert provider.dialect == VENDORS[key].dialect
    assert provider.base_url == (VENDORS[key].base_url or "https://upstream.example/v1")
    assert provider.lane_profile.preset == key
    assert provider.lane_profile.lanes == LANE_PRESETS[key].lanes
    assert provider.lane_profile.windows.count() == len(LANE_PRESETS[key].windows)
    assert Credential.objects.get().key == KEY


def test_custom_names_every_field_that_must_be_typed_and_makes_nothing(admin: Client) -> None:
    answer = admin.post(ADD, typed(vendor="custom", name="Mine"))
    assert errors_of(answer) == {"base_url", "lanes", "wait_timeout_s", "run_timeout_s"}
    assert not Provider.objects.exists()
    assert not LaneProfile.objects.exists()


def test_custom_takes_what_is_typed(admin: Client) -> None:
    form = typed(vendor="custom", name="Mine", base_url="http://10.0.0.1/v1", lanes=2, wait_timeout_s=30)
    admin.post(ADD, form | {"run_timeout_s": 90})
    profile = Provider.objects.get().lane_profile
    assert (profile.lanes, profile.wait_timeout_s, profile.run_timeout_s) == (2, 30, 90)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({}, {"vendor", "name"}),
        ({"vendor": "nobody", "name": "x"}, {"vendor"}),
        ({"vendor": "openai", "name": "x"}, {"api_key"}),
        ({"vendor": "ollama", "name": "x", "base_url": "127.0.0.1:11434"}, {"base_url"}),
        ({"vendor": "ollama", "name": "x", "lanes": 0}, {"lanes"}),
        ({"vendor": "ollama", "name": "x", "wait_timeout_s": "soon"}, {"wait_timeout_s"}),
        ({"vendor": "nvidia", "name": "x", "api_key": KEY, "lanes": 1}, {"lanes"}),
    ],
)
def test_bad_input_is_named_by_field(fields: dict[str, Any], wrong: set[str], admin: Client) -> None:
    assert errors_of(admin.post(ADD, typed(**fields))) == wrong
    assert not Provider.objects.exists()


def test_a_dialect_that_is_not_spoken_yet_is_told_on_the_form_the_page_and_the_list(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.presets.has_adapter", lambda dialect: dialect == "openai_chat")
    assert "does not speak the dialect “anthropic” yet" in admin.get(ADD).context["preset_facts"]["anthropic"]["notes"]
    admin.post(ADD, typed(vendor="anthropic", name="x", api_key=KEY))
    assert "does not speak the dialect" in admin.get(page_of(Provider.objects.get())).content.decode()
    assert "dialect not spoken yet" in admin.get(LIST).content.decode()


def test_a_second_provider_of_the_same_name_gets_a_key_of_its_own(admin: Client) -> None:
    for _ in range(2):
        admin.post(ADD, typed(vendor="ollama", name="Ollama"))
    assert set(Provider.objects.values_list("slug", flat=True)) == {"ollama", "ollama-2"}
    assert LaneProfile.objects.count() == 2


def test_a_name_without_latin_letters_takes_the_presets_key() -> None:
    assert free_slug("우리 서버", "llama.cpp") == "llama-cpp"


def test_the_list_shows_lanes_times_and_a_red_mark_for_a_missing_profile(admin: Client) -> None:
    Provider.objects.create(slug="bare", name="Bare", vendor="openai", dialect="openai_chat")
    admin.post(ADD, typed(vendor="nvidia", name="Full", api_key=KEY))
    page = admin.get(LIST).content.decode()
    assert "✕ lane profile missing" in page
    assert "4, per model 2" in page
    assert "60\u00a0s / 600\u00a0s" in page


def test_a_key_is_never_shown_again_and_an_empty_field_keeps_it(admin: Client) -> None:
    admin.post(ADD, typed(vendor="openai", name="x", api_key=KEY))
    provider, row = Provider.objects.get(), Credential.objects.get()
    assert KEY not in admin.get(page_of(provider)).content.decode()
    inline = {"credentials-TOTAL_FORMS": 1, "credentials-INITIAL_FORMS": 1, "credentials-0-id": row.pk}
    inline |= {"credentials-0-provider": provider.pk, "credentials-0-label": "renamed", "credentials-0-new_key": ""}
    assert admin.post(page_of(provider), unchanged(provider, **inline)).status_code == 302
    row.refresh_from_db()
    assert row.label == "renamed"
    assert row.key == KEY
    admin.post(page_of(provider), unchanged(provider, **inline | {"credentials-0-new_key": "sk-new"}))
    assert Credential.objects.get().key == "sk-new"


def test_a_new_key_row_without_a_key_is_refused(admin: Client) -> None:
    admin.post(ADD, typed(vendor="ollama", name="x"))
    provider = Provider.objects.get()
    inline = {"credentials-TOTAL_FORMS": 1, "credentials-INITIAL_FORMS": 0, "credentials-0-label": "second"}
    answer = admin.post(page_of(provider), unchanged(provider, **inline))
    assert answer.status_code == 200
    assert "Type the key." in answer.content.decode()


def test_models_are_added_beside_their_provider(admin: Client) -> None:
    admin.post(ADD, typed(vendor="ollama", name="x"))
    provider = Provider.objects.get()
    inline = {"models-TOTAL_FORMS": 1, "models-INITIAL_FORMS": 0, "models-0-upstream_name": "qwen3:8b"}
    admin.post(page_of(provider), unchanged(provider, **inline, **{"models-0-enabled": "on"}))
    assert Model.objects.get().public_name == "qwen3:8b"


def test_taking_the_lane_profile_from_an_enabled_provider_is_refused_by_field(admin: Client) -> None:
    admin.post(ADD, typed(vendor="ollama", name="x"))
    provider = Provider.objects.get()
    assert errors_of(admin.post(page_of(provider), unchanged(provider, lane_profile=""))) == {"lane_profile"}
    assert Provider.objects.get().lane_profile is not None


def test_another_providers_lane_profile_cannot_be_chosen(admin: Client) -> None:
    for name in ("a", "b"):
        admin.post(ADD, typed(vendor="ollama", name=name))
    first, second = Provider.objects.order_by("slug")
    answer = admin.post(page_of(first), unchanged(first, lane_profile=second.lane_profile_id))
    assert errors_of(answer) == {"lane_profile"}


def test_pausing_and_resuming_from_the_list_is_a_change_of_configuration(admin: Client) -> None:
    admin.post(ADD, typed(vendor="ollama", name="x"))
    provider = Provider.objects.get()
    for action, paused in (("pause", True), ("resume", False)):
        before = current_version()
        admin.post(LIST, {"action": action, "_selected_action": [provider.pk]})
        provider.refresh_from_db()
        assert provider.paused is paused
        assert current_version() > before


def test_members_without_staff_rights_see_nothing(client: Client) -> None:
    client.force_login(User.objects.create(username="member"))
    for address in (LIST, ADD, "/admin/scheduling/laneprofile/", "/admin/accounts/usagerow/"):
        assert client.get(address).status_code == 302


def test_the_page_loads_nothing_from_outside(admin: Client) -> None:
    page = admin.get(ADD).content.decode()
    for mark in ('src="http', "src='http", 'href="http', "@import"):
        assert mark not in page
