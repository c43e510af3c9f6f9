"""Models: short beside their provider, whole on their own page."""

from __future__ import annotations

from django import forms
from django.contrib import admin
from django.utils.translation import gettext_lazy as _
from unfold import admin as unfold
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from providers.admin.fields import DollarField
from providers.models import Capability, Model


class ModelForm(forms.ModelForm):
    input_microusd_per_mtok = DollarField(label=_("Input"))
    cached_input_microusd_per_mtok = DollarField(label=_("Cached input"))
    output_microusd_per_mtok = DollarField(label=_("Output"))
    capabilities = forms.MultipleChoiceField(
        label=_("Can"),
        choices=Capability.choices,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )


class ModelInline(unfold.TabularInline):
    model = Model
    fields = ("upstream_name", "public_name", "enabled", "paused")
    extra = 0
    show_change_link = True


@admin.register(Model)
class ModelAdmin(unfold.ModelAdmin):
    form = ModelForm
    list_display = ("public_name", "provider", "upstream_name", "state", "context_window", "max_output")
    list_filter = ("provider", "enabled", "paused")
    list_select_related = ("provider",)
    search_fields = ("public_name", "upstream_name", "provider__name")
    autocomplete_fields = ("provider",)
    fieldsets = (
        (
            None,
            {"fields": ("provider", "upstream_name", "public_name", "enabled", "paused", "pause_message")},
        ),
        (_("What it can do"), {"fields": ("capabilities", "context_window", "max_output")}),
        (
            _("Prices"),
            {
                "fields": (
                    "input_microusd_per_mtok",
                    "cached_input_microusd_per_mtok",
                    "output_microusd_per_mtok",
                ),
                "description": _("US dollars per million tokens, e.g. 0.15"),
            },
        ),
        (_("Limits and advice"), {"fields": ("limit_group", "split_advice", "advised_concurrency")}),
    )

    @display(description=_("state"), label={"on": "success", "paused": "warning", "off": "info"})
    def state(self, model: Model) -> tuple[str, object]:
        if not model.enabled:
            return "off", _("○ off")
        return ("paused", _("‖ paused")) if model.paused else ("on", _("● on"))
