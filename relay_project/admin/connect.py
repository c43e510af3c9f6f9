"""“Add provider”: one small form makes a provider, its API key and its lane profile together."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from providers.models import Credential, Provider
from providers.presets import VENDORS, VendorPreset, cannot_connect_yet
from scheduling.models import LaneProfile
from scheduling.presets import LANE_PRESETS, create_profile, preset_figures

TYPED_FIGURES = ("lanes", "wait_timeout_s", "run_timeout_s")


def vendor_choices() -> list[tuple[str, Any]]:
    choices: list[tuple[str, Any]] = [("", _("Choose…"))]
    for key, vendor in VENDORS.items():
        later = _(" – not spoken by this relay yet") if cannot_connect_yet(key) else ""
        choices.append((key, f"{vendor.label}{later}"))
    return choices


def preset_facts() -> dict[str, dict[str, Any]]:
    """What the page fills in when a preset is chosen: preset key → figures, address, notes."""
    return {key: _facts(key, vendor) for key, vendor in VENDORS.items() if key in LANE_PRESETS}


def _facts(key: str, vendor: VendorPreset) -> dict[str, Any]:
    figures = preset_figures(key)
    return {
        **{name: figures[name] for name in TYPED_FIGURES},
        "base_url": vendor.base_url,
        "notes": " ".join(filter(None, [cannot_connect_yet(key), str(vendor.notes)])),
    }


def figure_field(label: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=1,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Empty: the preset's figure."),
    )


class ConnectForm(forms.ModelForm):
    vendor = forms.ChoiceField(
        label=_("Preset"),
        choices=vendor_choices,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Brings the address, the lanes and the limits; all can be changed afterwards."),
    )
    api_key = forms.CharField(
        label=_("API key"),
        required=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"}),
        help_text=_("Kept sealed, never shown again. Leave empty where the provider needs none."),
    )
    base_url = forms.CharField(
        label=_("Base URL"),
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Empty: the preset's address."),
    )
    lanes = figure_field(_("Lanes"))
    wait_timeout_s = figure_field(_("Longest wait, s"))
    run_timeout_s = figure_field(_("Longest run, s"))

    class Meta:
        model = Provider
        fields = ("name", "vendor", "base_url")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if (key := cleaned.get("vendor")) and key in LANE_PRESETS:
            self._check_address_and_key(VENDORS[key])
            self._check_figures(key)
            self.instance.dialect = VENDORS[key].dialect
            self.instance.slug = free_slug(cleaned.get("name", ""), key)
        return cleaned

    def _check_address_and_key(self, vendor: VendorPreset) -> None:
        if "base_url" in self.cleaned_data:
            self.cleaned_data["base_url"] = (self.cleaned_data["base_url"] or vendor.base_url).rstrip("/")
            if vendor.needs_url and not self.cleaned_data["base_url"]:
                self.add_error("base_url", _("This preset has no address of its own: type it."))
        if vendor.needs_key and not self.cleaned_data.get("api_key"):
            self.add_error("api_key", _("This provider needs an API key."))

    def _check_figures(self, key: str) -> None:
        """There is no silent default: a figure is the preset's, or it is typed."""
        figures = preset_figures(key)
        for name in TYPED_FIGURES:
            if name in self.cleaned_data and self.cleaned_data[name] is None and figures[name] is None:
                self.add_error(name, _("This preset brings none: type it."))
        lanes, per_model = self.cleaned_data.get("lanes"), figures["lanes_per_model"]
        if lanes is not None and per_model is not None and lanes < per_model:
            message = _("This preset lets %d run per model: not fewer lanes than that.") % per_model
            self.add_error("lanes", message)

    def connect(self) -> None:
        """Make the lane profile and take it; the row is then ready to be saved. Call inside a transaction."""
        typed = {name: self.cleaned_data[name] for name in TYPED_FIGURES}
        name = first_free(self.instance.slug, set(LaneProfile.objects.values_list("name", flat=True)))
        self.instance.lane_profile = create_profile(self.instance.vendor, name, **typed)
        self.instance.enabled = True

    def save_key(self) -> None:
        """After the row is saved."""
        if key := self.cleaned_data.get("api_key"):
            Credential.objects.create(provider=self.instance, label="1", key=key.strip())


def free_slug(name: str, vendor: str) -> str:
    """The name as a key; where it has no letters for one (Korean), the preset's."""
    base = slugify(name) or slugify(vendor.replace(".", "-")) or "provider"
    return first_free(base[:60], set(Provider.objects.values_list("slug", flat=True)))


def first_free(base: str, taken: set[str]) -> str:
    number = 1
    candidate = base
    while candidate in taken:
        number += 1
        candidate = f"{base}-{number}"
    return candidate
