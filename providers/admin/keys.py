"""API keys: typed once, sealed, never shown again."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import ForeignKey
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.widgets import UnfoldAdminPasswordWidget

from providers.models import Credential


class CredentialForm(forms.ModelForm):
    new_key = forms.CharField(
        label=_("key"),
        required=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"}),
        help_text=_("Leave empty to keep the present one."),
    )

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.instance.pk is None and not self.cleaned_data.get("new_key"):
            self.add_error("new_key", _("Type the key."))
        return cleaned

    def save(self, commit: bool = True) -> Any:
        if key := self.cleaned_data.get("new_key"):
            self.instance.key = key.strip()
        return super().save(commit)


class CredentialInline(TabularInline):
    model = Credential
    form = CredentialForm
    fields = ("label", "new_key", "quota_group", "bound_model", "lanes", "enabled", "paused")
    extra = 0

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        """Only models of this provider."""
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if db_field.name == "bound_model" and field is not None and request.resolver_match is not None:
            field.queryset = field.queryset.filter(provider=request.resolver_match.kwargs.get("object_id"))
        return field
