"""System checks: what is wrong with this installation, each finding with what to do.

Two kinds: over the tables in the code (every management command), and over the rows (`check --database default`
and `migrate`, as Django's own database checks). Each rule is a function over one thing, so that it can be tried
on a thing that the database would refuse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from inspect import isclass
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections
from django.urls import URLPattern, URLResolver

from providers.models import Credential, Model, Provider
from providers.presets import VENDORS, VendorPreset, cannot_connect_yet
from providers.sealing import UnsealError
from relay_project.api.base import AsyncAPIView, NotACoroutineClass, check_policies
from relay_project.models import ConfigurationVersion
from scheduling.models import LaneProfile, ModelOverride, Role
from scheduling.presets import LANE_PRESETS, LanePreset

POLICIES = frozenset({"authentication_classes", "permission_classes", "throttle_classes"})
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]", "::1", "testserver"})


def register_checks() -> None:
    register(check_presets)
    register(check_generation_views)
    register(check_deployment)
    register(check_rows, Tags.database)


def check_presets(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    findings = [*missing_keys(LANE_PRESETS, VENDORS)]
    for key in LANE_PRESETS.keys() & VENDORS.keys():
        findings += times_do_not_fit(LANE_PRESETS[key], VENDORS[key], f"preset “{key}”")
    return findings


def check_generation_views(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    from relay_project.api.urls import urlpatterns  # late: the views want their models loaded

    return [finding for route in _routes(urlpatterns) for finding in not_awaited(route)]


def check_deployment(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    return [*unsafe_hosts(settings.ALLOWED_HOSTS, debug=settings.DEBUG)]


def check_rows(
    app_configs: Sequence[AppConfig] | None = None, databases: Collection[str] | None = None, **_: Any
) -> list[CheckMessage]:
    if "default" not in (databases or ()) or not _is_migrated():
        return []
    findings: list[CheckMessage] = []
    providers = Provider.objects.filter(enabled=True).select_related("lane_profile")
    for provider in providers.prefetch_related("lane_profile__overrides__model"):
        findings += provider_is_wrong(provider)
    for credential in Credential.objects.select_related("provider"):
        findings += cannot_be_unsealed(credential)
    findings += role_hides_a_model()
    return findings


def _is_migrated() -> bool:
    """The last app's table is there (`migrate` runs the checks first, on an empty database too)."""
    return ConfigurationVersion._meta.db_table in connections["default"].introspection.table_names()


def _routes(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns)
        else:
            yield pattern


def not_awaited(route: URLPattern) -> Iterator[CheckMessage]:
    """A generation view whose authentication, permissions or throttles would be skipped or never awaited."""
    if complaint := _policies_complaint(route.callback):
        yield Error(
            f"The generation route “{route.pattern}”: {complaint}",
            hint="Derive the view from AsyncAPIView and name plain classes with coroutine methods as its policies.",
            id="relay.E011",
        )


def _policies_complaint(view: Any) -> str:
    view_class = getattr(view, "cls", None)
    if not (isclass(view_class) and issubclass(view_class, AsyncAPIView)):
        return f"{getattr(view, '__qualname__', view)!r} is no AsyncAPIView, so its policies are not awaited."
    if ignored := sorted(POLICIES & set(view.initkwargs)):
        return f"as_view() was given {', '.join(ignored)}, which only count as attributes of the class."
    try:
        check_policies(view_class)
    except NotACoroutineClass as error:
        return str(error)
    return ""


def missing_keys(lanes: Collection[str], vendors: Collection[str]) -> Iterator[CheckMessage]:
    for key in sorted(set(lanes) ^ set(vendors)):
        table = "scheduling.presets" if key in vendors else "providers.presets"
        yield Error(f"The preset “{key}” is missing in {table}.", hint="Both tables need it.", id="relay.E004")


def times_do_not_fit(
    times: LanePreset | LaneProfile | ModelOverride, vendor: VendorPreset, whose: str
) -> Iterator[CheckMessage]:
    cap_s, run_s, wait_s = vendor.adapter_cap_s, times.run_timeout_s, times.wait_timeout_s
    if cap_s is not None and run_s is not None and run_s <= cap_s:
        yield Error(
            f"{whose}: run_timeout_s is {run_s}, but its adapter gives up only after {cap_s} s.",
            hint=f"Set run_timeout_s above {cap_s}, so that the adapter, which knows why, speaks first.",
            id="relay.E002",
        )
    if wait_s is not None and wait_s < vendor.typical_call_s:
        yield Warning(
            f"{whose}: wait_timeout_s is {wait_s}, but an ordinary call takes about {vendor.typical_call_s} s.",
            hint="Whoever stands behind one ordinary call is refused: raise wait_timeout_s.",
            id="relay.W003",
        )


def provider_is_wrong(provider: Provider) -> Iterator[CheckMessage]:
    """The rules over one enabled provider."""
    vendor = VENDORS.get(provider.vendor)
    if vendor is None:
        yield Error(
            f"Provider “{provider.slug}”: there is no preset “{provider.vendor}”.",
            obj=provider,
            id="relay.E005",
        )
        return
    if message := cannot_connect_yet(provider.vendor):
        yield Warning(f"Provider “{provider.slug}”: {message}", obj=provider, id="relay.W006")
    if provider.lane_profile is None:
        yield Error(
            f"Provider “{provider.slug}” is enabled without a lane profile: none of its calls start.",
            hint="Give it one in the admin, or disable it.",
            obj=provider,
            id="relay.E001",
        )
        return
    yield from times_do_not_fit(provider.lane_profile, vendor, f"Provider “{provider.slug}”")
    for override in provider.lane_profile.overrides.all():
        yield from times_do_not_fit(override, vendor, f"Model “{override.model}”")


def cannot_be_unsealed(credential: Credential) -> Iterator[CheckMessage]:
    try:
        _ = credential.key
    except UnsealError:
        yield Error(
            f"The API key “{credential.label}” of “{credential.provider.slug}” cannot be opened.",
            hint="Put the key it was sealed with back into RELAY_ENCRYPTION_KEYS, or type the API key anew.",
            obj=credential,
            id="relay.E007",
        )


def role_hides_a_model() -> Iterable[CheckMessage]:
    names = Model.objects.values_list("public_name", flat=True)
    for role in Role.objects.filter(name__in=names):
        yield Warning(
            f"The role “{role.name}” hides the model of the same name from callers.",
            hint="Rename one of them.",
            obj=role,
            id="relay.W008",
        )


def unsafe_hosts(hosts: Collection[str], *, debug: bool) -> Iterator[CheckMessage]:
    outside = sorted(set(hosts) - LOOPBACK_HOSTS)
    if debug and outside:
        yield Error(
            f"DEBUG is on while ALLOWED_HOSTS names {', '.join(outside)}: anyone would see its error pages.",
            hint="Set DEBUG=false.",
            id="relay.E009",
        )
    if "*" in hosts:
        yield Warning(
            "ALLOWED_HOSTS allows every host name.", hint="Name the hosts people really use.", id="relay.W010"
        )
