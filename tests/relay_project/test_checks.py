"""System checks: each rule is shown red with its row removed or changed, and green as delivered."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from cryptography.fernet import Fernet
from django.core.checks import CheckMessage, run_checks
from django.core.checks.registry import registry
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.urls import URLPattern, URLResolver, include, path
from rest_framework.permissions import IsAuthenticated
from rest_framework.views import APIView

from providers.models import Credential, Model, Provider
from providers.presets import VENDORS
from relay_project import checks
from relay_project.api import urls
from relay_project.api.base import AsyncAPIView
from scheduling.models import LaneProfile, ModelOverride, Role
from scheduling.presets import LANE_PRESETS, create_profile


def ids(findings: Iterable[CheckMessage]) -> list[str]:
    return [str(finding.id) for finding in findings]


def make_provider(vendor: str = "openai", **figures: int) -> Provider:
    return Provider.objects.create(
        slug=vendor,
        name=vendor,
        vendor=vendor,
        dialect=VENDORS[vendor].dialect,
        enabled=True,
        lane_profile=create_profile(vendor, vendor, **figures),
    )


def test_the_presets_as_delivered_are_free_of_findings() -> None:
    assert ids(checks.check_presets()) == []


@pytest.mark.parametrize("key", sorted(set(LANE_PRESETS) - {"custom"}))
def test_removing_a_lane_preset_turns_the_check_red(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(LANE_PRESETS, key)
    [finding] = checks.check_presets()
    assert finding.id == "relay.E004"
    assert key in finding.msg
    assert "scheduling.presets" in finding.msg


def test_removing_a_vendor_preset_turns_the_check_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(VENDORS, "groq")
    [finding] = checks.check_presets()
    assert finding.id == "relay.E004"
    assert "providers.presets" in finding.msg


@pytest.mark.parametrize("key", sorted(set(LANE_PRESETS) - {"custom"}))
def test_a_run_limit_that_does_not_exceed_the_adapters_cap_turns_the_check_red(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LANE_PRESETS, key, replace(LANE_PRESETS[key], run_timeout_s=VENDORS[key].adapter_cap_s))
    assert ids(checks.check_presets()) == ["relay.E002"]


@pytest.mark.parametrize("key", sorted(set(LANE_PRESETS) - {"custom"}))
def test_a_wait_limit_below_an_ordinary_call_turns_the_check_yellow(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = VENDORS[key].typical_call_s - 1
    monkeypatch.setitem(LANE_PRESETS, key, replace(LANE_PRESETS[key], wait_timeout_s=short))
    assert ids(checks.check_presets()) == ["relay.W003"]


def test_an_enabled_provider_without_lane_profile_is_an_error() -> None:
    """The database refuses such a row, so the rule is tried on one that was never saved."""
    provider = Provider(slug="p", vendor="openai", dialect="openai_chat", enabled=True)
    assert ids(checks.provider_is_wrong(provider)) == ["relay.E001"]


def test_an_enabled_provider_of_an_unknown_preset_is_an_error() -> None:
    assert ids(checks.provider_is_wrong(Provider(slug="p", vendor="gone", enabled=True))) == ["relay.E005"]


@pytest.mark.django_db
def test_an_enabled_provider_whose_dialect_has_no_adapter_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.presets.has_adapter", lambda dialect: False)
    make_provider()
    assert ids(run_checks(tags=["database"], databases=["default"])) == ["relay.W006"]


@pytest.mark.django_db
def test_sound_rows_have_no_findings_and_the_command_passes() -> None:
    make_provider()
    call_command("check", databases=["default"], tags=["database"])


@pytest.mark.django_db
def test_a_profile_and_an_override_with_too_short_a_run_are_errors() -> None:
    provider = make_provider(run_timeout_s=600)
    model = Model.objects.create(provider=provider, upstream_name="m")
    profile = LaneProfile.objects.get()
    ModelOverride.objects.create(profile=profile, model=model, run_timeout_s=30, wait_timeout_s=1)
    assert sorted(ids(checks.check_rows(databases=["default"]))) == ["relay.E002", "relay.E002", "relay.W003"]
    with pytest.raises(SystemCheckError):
        call_command("check", databases=["default"], tags=["database"])


@pytest.mark.django_db
def test_a_disabled_provider_is_left_alone() -> None:
    provider = make_provider(run_timeout_s=1)
    provider.enabled = False
    provider.save()
    assert checks.check_rows(databases=["default"]) == []


@pytest.mark.django_db
def test_a_key_that_cannot_be_opened_is_an_error_that_names_it(settings: object) -> None:
    Credential.objects.create(provider=make_provider(), label="main", key="sk-1")
    assert checks.check_rows(databases=["default"]) == []
    settings.RELAY_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    [finding] = checks.check_rows(databases=["default"])
    assert finding.id == "relay.E007"
    assert "main" in finding.msg


@pytest.mark.django_db
def test_a_role_named_like_a_model_is_told() -> None:
    Model.objects.create(provider=make_provider(), upstream_name="fast-chat")
    Role.objects.create(name="fast-chat")
    assert ids(checks.check_rows(databases=["default"])) == ["relay.W008"]


def test_row_checks_do_nothing_where_no_database_is_asked_about() -> None:
    assert checks.check_rows(databases=None) == []


@pytest.mark.parametrize(
    ("hosts", "debug", "expected"),
    [
        (["127.0.0.1", "localhost"], True, []),
        (["relay.example.org"], False, []),
        (["relay.example.org", "localhost"], True, ["relay.E009"]),
        (["*"], False, ["relay.W010"]),
        (["*"], True, ["relay.E009", "relay.W010"]),
    ],
)
def test_debug_towards_the_outside_is_an_error(hosts: list[str], debug: bool, expected: list[str]) -> None:
    assert ids(checks.unsafe_hosts(hosts, debug=debug)) == expected


class Awaited:
    async def authenticate(self, request: object) -> None: ...

    async def has_permission(self, request: object, view: object) -> bool:
        return True


class Composed(AsyncAPIView):
    authentication_classes = (Awaited,)
    permission_classes = (Awaited,)


class Stock(APIView):
    permission_classes = (IsAuthenticated,)


def complaints(*routes: URLPattern | URLResolver) -> list[str]:
    return [finding.msg for route in checks._routes(routes) for finding in checks.not_awaited(route)]


def test_every_generation_route_as_delivered_awaits_its_policies() -> None:
    assert ids(checks.check_generation_views()) == []


def test_a_policy_that_would_not_be_awaited_is_an_error_wherever_the_route_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Put there after the class was made, past the check at import."""
    route = path("v1/", include([path("chat", Composed.as_view())]))
    assert complaints(route) == []
    monkeypatch.setattr(Composed, "permission_classes", (IsAuthenticated & IsAuthenticated,))
    [complaint] = complaints(route)
    assert "chat" in complaint
    assert "permission_classes" in complaint


def test_a_stock_view_and_a_plain_function_among_the_generation_routes_are_errors() -> None:
    routes = path("a", Stock.as_view()), path("b", lambda request: None)  # type: ignore[misc,arg-type,return-value]
    assert len(complaints(*routes)) == 2


def test_policies_given_to_as_view_would_be_ignored_and_are_an_error() -> None:
    [complaint] = complaints(path("a", Composed.as_view(permission_classes=(Awaited,))))
    assert "permission_classes" in complaint


def test_the_check_of_the_routes_is_part_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run by itself: Django's own checks would keep the routes put here in the resolver for good."""
    monkeypatch.setattr(urls, "urlpatterns", [path("a", Stock.as_view())])
    assert checks.check_generation_views in registry.get_checks()
    assert ids(checks.check_generation_views()) == ["relay.E011"]
