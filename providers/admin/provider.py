"""A provider's row and page, as far as this app knows: its light, its connection, pausing."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.timesince import timesince
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin
from unfold.decorators import display

from providers.admin.keys import CredentialInline
from providers.admin.models import ModelInline
from providers.models import ConnectionState, Provider
from providers.presets import VENDORS, cannot_connect_yet

COLOURS = {"ready": "success", "wait": "warning", "wrong": "danger", "off": "info"}
CONNECTION_LIGHTS = {
    ConnectionState.VERIFIED: ("ready", _("● ready")),
    ConnectionState.UNVERIFIED: ("wait", _("◌ not checked yet")),
    ConnectionState.FAILED: ("wrong", _("✕ connection failed")),
}


def light(provider: Provider) -> tuple[str, Any]:
    """What a person must know first about a provider: (colour key, shape and word)."""
    if provider.lane_profile_id is None:
        return "wrong", _("✕ lane profile missing")
    if not provider.enabled:
        return "off", _("○ off")
    if provider.paused:
        return "wait", _("‖ paused")
    if provider.vendor not in VENDORS or cannot_connect_yet(provider.vendor):
        return "wrong", _("✕ dialect not spoken yet")
    return CONNECTION_LIGHTS[ConnectionState(provider.connection_state)]


def connection_in_words(provider: Provider) -> str | Promise:
    if provider.connection_state == ConnectionState.VERIFIED and provider.verified_at is not None:
        return _("verified %(ago)s ago") % {"ago": timesince(provider.verified_at)}
    if provider.connection_state == ConnectionState.FAILED:
        return _("failed at %(stage)s: %(reason)s") % {
            "stage": provider.failed_stage or "?",
            "reason": provider.failed_reason or "?",
        }
    return _("not checked yet")


class ProviderAdmin(ModelAdmin):
    """Extended and registered by the project, which adds what other apps know of a provider."""

    list_filter = ("enabled", "paused", "vendor", "connection_state")
    search_fields = ("name", "slug")
    inlines = (CredentialInline, ModelInline)
    actions: tuple[str, ...] = ("pause", "resume")
    readonly_fields: tuple[str, ...] = (
        "slug",
        "preset",
        "dialect_in_words",
        "status_in_words",
        "connection",
        "last_check",
        "listed_models",
    )
    fieldsets: tuple[Any, ...] = (
        (None, {"fields": ("name", "slug", "preset", "dialect_in_words", "base_url")}),
        (_("Running"), {"fields": ("status_in_words", "enabled", "paused", "pause_message")}),
        (_("Connection"), {"fields": ("connection", "last_check", "listed_models")}),
    )

    @display(description=_("status"), label=COLOURS)
    def status(self, provider: Provider) -> tuple[str, Any]:
        return light(provider)

    @display(description=_("status"))
    def status_in_words(self, provider: Provider) -> Any:
        return light(provider)[1]

    @display(description=_("connection"), ordering="connection_state")
    def connection(self, provider: Provider) -> str | Promise:
        return connection_in_words(provider)

    @display(description=_("last check"), ordering="last_check_at", empty_value="–")
    def last_check(self, provider: Provider) -> str | None:
        if provider.last_check_at is None:
            return None
        ago = _("%(ago)s ago") % {"ago": timesince(provider.last_check_at)}
        took = "" if provider.last_check_ms is None else f", {provider.last_check_ms / 1000:.1f} s"
        exact = provider.last_check_at.isoformat(timespec="seconds")
        return format_html('<span title="{}">{}{}</span>', exact, ago, took)

    @display(description=_("models it listed"), empty_value=_("none yet"))
    def listed_models(self, provider: Provider) -> str | None:
        return ", ".join(provider.upstream_models) or None

    @display(description=_("preset"), ordering="vendor")
    def preset(self, provider: Provider) -> Any:
        vendor = VENDORS.get(provider.vendor)
        return vendor.label if vendor else provider.vendor

    @display(description=_("dialect"))
    def dialect_in_words(self, provider: Provider) -> str:
        missing = cannot_connect_yet(provider.vendor) if provider.vendor in VENDORS else ""
        return f"{provider.dialect} – {missing}" if missing else provider.dialect

    @admin.action(description=_("Pause: nothing new starts"), permissions=["change"])
    def pause(self, request: HttpRequest, providers: QuerySet[Provider]) -> None:
        count = self._set_paused(providers.filter(paused=False), paused=True)
        self.message_user(request, ngettext("%d provider paused.", "%d providers paused.", count) % count)

    @admin.action(description=_("Resume"), permissions=["change"])
    def resume(self, request: HttpRequest, providers: QuerySet[Provider]) -> None:
        count = self._set_paused(providers.filter(paused=True), paused=False)
        self.message_user(request, ngettext("%d provider resumed.", "%d providers resumed.", count) % count)

    def _set_paused(self, providers: QuerySet[Provider], *, paused: bool) -> int:
        """Saved one by one: each save tells the running processes."""
        rows = list(providers)
        for provider in rows:
            provider.paused = paused
            provider.save(update_fields=["paused"])
        return len(rows)
