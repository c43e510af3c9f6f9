"""Lane profiles, in the order a person thinks.

How many at once, how long may one wait, how long may one run, how often, how many tokens and
how they are charged.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.db.models import ForeignKey, QuerySet
from django.forms.models import BaseModelFormSet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, StackedInline, TabularInline
from unfold.decorators import display
from unfold.widgets import UnfoldAdminExpandableTextareaWidget

from scheduling.models import LaneProfile, LaneWindow, ModelOverride, RelayLimits


class WindowInline(StackedInline):
    model = LaneWindow
    fields = (("limit", "measure"), ("kind", "scope"), ("window_s", "slice_s"), ("period", "zone"), "mode")
    collapsible = True
    extra = 0
    verbose_name = _("limit per time")
    verbose_name_plural = _("How often, and how many tokens")


class ProfileWindowInline(WindowInline):
    """Windows of the whole profile; those of one model are on its override's page."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[LaneWindow]:
        windows: QuerySet[LaneWindow] = super().get_queryset(request)
        return windows.filter(model_override=None)


class OverrideInline(TabularInline):
    model = ModelOverride
    fields = ("model", "lanes_per_model", "wait_timeout_s", "run_timeout_s")
    extra = 0
    show_change_link = True
    verbose_name = _("model with other figures")
    verbose_name_plural = _("Models with other figures (empty: the profile's)")

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        """Only models of the provider that has this profile."""
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if db_field.name == "model" and field is not None and request.resolver_match is not None:
            profile_id = request.resolver_match.kwargs.get("object_id")
            field.queryset = field.queryset.filter(provider__lane_profile=profile_id)
        return field


@admin.register(LaneProfile)
class LaneProfileAdmin(ModelAdmin):
    list_display = ("name", "of_provider", "at_once", "wait_and_run", "paced_by", "charge_rule")
    list_select_related = ("provider",)
    search_fields = ("name",)
    readonly_fields = ("preset", "of_provider")
    fieldsets = (
        (None, {"fields": ("name", "of_provider", "preset", "note")}),
        (_("How many at once"), {"fields": ("lanes", "lanes_per_model")}),
        (_("How long may one wait"), {"fields": ("wait_timeout_s", "max_waiting", "fair_by")}),
        (_("How long may one run"), {"fields": ("run_timeout_s", "on_disconnect", "drain_s")}),
        (
            _("How often"),
            {
                "fields": ("burst", "guard_ms"),
                "description": _("The limits per time themselves are further down."),
            },
        ),
        (_("How are tokens charged"), {"fields": ("charge_rule", "answer_cap", "answer_cap_streams")}),
        (
            _("When the provider says no"),
            {"fields": ("on_brief_refusal", "brief_default_s", "used_up_default_s", "adaptive")},
        ),
    )

    formfield_overrides = {models.TextField: {"widget": UnfoldAdminExpandableTextareaWidget}}

    def get_queryset(self, request: HttpRequest) -> QuerySet[LaneProfile]:
        profiles: QuerySet[LaneProfile] = super().get_queryset(request)
        return profiles.prefetch_related("windows")

    def get_inlines(self, request: HttpRequest, obj: LaneProfile | None = None) -> list[Any]:
        return [ProfileWindowInline, OverrideInline] if obj else [ProfileWindowInline]

    def save_model(self, request: HttpRequest, profile: LaneProfile, form: forms.ModelForm, change: bool) -> None:
        """A profile made by hand starts from nothing; presets come with “Add provider”."""
        profile.preset = profile.preset or "custom"
        super().save_model(request, profile, form, change)

    @display(description=_("provider"), empty_value=_("none"))
    def of_provider(self, profile: LaneProfile) -> Any:
        try:
            provider = profile.provider
        except ObjectDoesNotExist:
            return None
        address = reverse("admin:providers_provider_change", args=[provider.pk])
        return format_html('<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>', address, provider)

    @display(description=_("at once"), ordering="lanes")
    def at_once(self, profile: LaneProfile) -> str:
        if profile.lanes_per_model is None:
            return str(profile.lanes)
        return _("%(lanes)d, per model %(per_model)d") % {
            "lanes": profile.lanes,
            "per_model": profile.lanes_per_model,
        }

    @display(description=_("wait / run"), ordering="wait_timeout_s")
    def wait_and_run(self, profile: LaneProfile) -> str:
        return f"{profile.wait_timeout_s}\u00a0s / {profile.run_timeout_s}\u00a0s"

    @display(description=_("limits per time"))
    def paced_by(self, profile: LaneProfile) -> str:
        return " · ".join(str(window) for window in profile.windows.all() if window.model_override_id is None) or "–"


@admin.register(ModelOverride)
class ModelOverrideAdmin(ModelAdmin):
    """Reached from its profile's page only."""

    inlines = (WindowInline,)
    readonly_fields = ("profile", "model")
    fieldsets = (
        (None, {"fields": ("profile", "model")}),
        (_("How many at once"), {"fields": ("lanes_per_model",)}),
        (_("How long may one wait"), {"fields": ("wait_timeout_s", "fair_by")}),
        (_("How long may one run"), {"fields": ("run_timeout_s", "on_disconnect", "drain_s")}),
        (_("How often"), {"fields": ("burst", "guard_ms")}),
        (_("How are tokens charged"), {"fields": ("charge_rule", "answer_cap", "answer_cap_streams")}),
        (
            _("When the provider says no"),
            {"fields": ("on_brief_refusal", "brief_default_s", "used_up_default_s", "adaptive")},
        ),
    )

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_formset(
        self, request: HttpRequest, form: forms.ModelForm, formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        for window in formset.save(commit=False):
            window.profile = form.instance.profile
        formset.save()


@admin.register(RelayLimits)
class RelayLimitsAdmin(ModelAdmin):
    """One row: its list is its form."""

    fields = ("max_running", "max_inside")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: RelayLimits | None = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        limits, _made = RelayLimits.objects.get_or_create(pk=1)
        return HttpResponseRedirect(reverse("admin:scheduling_relaylimits_change", args=[limits.pk]))
