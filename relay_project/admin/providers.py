"""A provider's page: the provider, and beside it the lane profile it runs on."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from providers.admin import ProviderAdmin
from providers.models import Provider
from relay_project.admin.connect import ConnectForm, preset_facts
from relay_project.admin.together import TogetherAdmin

LANES_FIELDSET = (_("Lanes"), {"fields": ("lane_profile", "lane_summary")})


@admin.register(Provider)
class RelayProviderAdmin(TogetherAdmin):
    change_form_outer_before_template = "relay/admin/parts/advice.html"
    list_display = ("name", "status", "lanes", "wait_and_run", "last_check", "connection")
    list_select_related = ("lane_profile",)
    readonly_fields = (*ProviderAdmin.readonly_fields, "lane_summary")
    fieldsets = (*ProviderAdmin.fieldsets[:2], LANES_FIELDSET, *ProviderAdmin.fieldsets[2:])
    add_fieldsets = (
        (None, {"fields": ("vendor", "name", "base_url", "api_key")}),
        (
            _("Lanes"),
            {
                "fields": ("lanes", "wait_timeout_s", "run_timeout_s"),
                "description": _("How many at once, and how long one may wait and run."),
            },
        ),
    )
    add_form_template = "relay/admin/add_provider.html"

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"preset_facts": preset_facts(), **(extra_context or {})}
        answer: HttpResponse = super().add_view(request, form_url, context)
        return answer

    def get_form(
        self, request: HttpRequest, obj: Provider | None = None, change: bool = False, **options: Any
    ) -> type[forms.ModelForm]:
        if obj is None:
            options["form"] = ConnectForm
        form: type[forms.ModelForm] = super().get_form(request, obj, change, **options)
        return form

    def get_inlines(self, request: HttpRequest, obj: Provider | None = None) -> Any:
        return self.inlines if obj else ()

    def save_model(self, request: HttpRequest, obj: Provider, form: forms.ModelForm, change: bool) -> None:
        if isinstance(form, ConnectForm):
            form.connect()
            super().save_model(request, obj, form, change)
            form.save_key()
        else:
            super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Provider, post_url_continue: str | None = None) -> HttpResponse:
        """On to its page, where models are added."""
        message = _("“%(name)s” is made, with its lane profile. Next: check the connection and add models.")
        address = reverse("admin:providers_provider_connection_page", args=[obj.pk])
        link = format_html('<a class="font-medium underline" href="{}">{}</a>', address, _("Check the connection"))
        self.message_user(request, format_html("{} {}", message % {"name": obj.name}, link))
        return HttpResponseRedirect(reverse("admin:providers_provider_change", args=[obj.pk]))

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **options: Any) -> Any:
        """Only lane profiles that no other provider has."""
        field = super().formfield_for_foreignkey(db_field, request, **options)
        if db_field.name == "lane_profile" and field is not None and request.resolver_match is not None:
            own = request.resolver_match.kwargs.get("object_id")
            field.queryset = field.queryset.filter(Q(provider=None) | Q(provider=own))
        return field

    @display(description=_("lanes"), ordering="lane_profile__lanes", empty_value="–")
    def lanes(self, provider: Provider) -> str | None:
        profile = provider.lane_profile
        if profile is None or profile.lanes_per_model is None:
            return None if profile is None else str(profile.lanes)
        figures = {"lanes": profile.lanes, "per_model": profile.lanes_per_model}
        return _("%(lanes)d, per model %(per_model)d") % figures

    @display(description=_("wait / run"), ordering="lane_profile__wait_timeout_s", empty_value="–")
    def wait_and_run(self, provider: Provider) -> str | None:
        profile = provider.lane_profile
        return None if profile is None else f"{profile.wait_timeout_s}\u00a0s / {profile.run_timeout_s}\u00a0s"

    @display(description=_("its figures"))
    def lane_summary(self, provider: Provider) -> str:
        profile = provider.lane_profile
        if profile is None:
            return format_html('<strong class="text-red-600">✕ {}</strong>', _("lane profile missing"))
        return format_html(
            '{} {} · {} {} · <a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>',
            _("lanes"),
            self.lanes(provider),
            _("wait / run"),
            self.wait_and_run(provider),
            reverse("admin:scheduling_laneprofile_change", args=[profile.pk]),
            _("change them"),
        )
