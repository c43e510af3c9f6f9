"""Personal tokens: made here and shown once, on the page that answers the form; never stored in plain."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from accounts.models import PersonalToken, Scope, every_scope
from accounts.tokens import NewToken, make_token

# A dialog, not a plain link: what changes something must come by POST.
REVOKE_DIALOG = {
    "title": _("Revoke this token now?"),
    "description": _("Its requests in line and running are stopped, and it never works again."),
    "form_submit_text": _("Revoke now"),
}


class PersonalTokenForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(
        label=_("May"),
        choices=Scope.choices,
        initial=every_scope,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )


@admin.register(PersonalToken)
class PersonalTokenAdmin(ModelAdmin):
    form = PersonalTokenForm
    list_display = (
        "name",
        "shown_prefix",
        "user",
        "team",
        "state",
        "class_cap",
        "last_used_at",
        "expires_at",
    )
    list_filter = ("class_cap", ("revoked_at", admin.EmptyFieldListFilter), "team")
    list_select_related = ("user", "team")
    search_fields = ("name", "prefix", "user__username")
    autocomplete_fields = ("user", "team")
    actions = ("revoke",)
    actions_detail = ("revoke_this",)
    readonly_fields = ("shown_prefix", "state_in_words", "created_at", "last_used_at")
    add_fieldsets = (
        (None, {"fields": ("name", "user", "team", "scopes", "class_cap", "expires_at")}),
        (_("Limits of its own"), {"fields": ("max_concurrent", "rpm", "tpm")}),
    )
    fieldsets = (
        (None, {"fields": ("name", "user", "team", "scopes", "class_cap", "expires_at")}),
        (_("Limits of its own"), {"fields": ("max_concurrent", "rpm", "tpm")}),
        (_("State"), {"fields": ("state_in_words", "shown_prefix", "created_at", "last_used_at")}),
    )

    @display(description=_("starts with"), ordering="prefix")
    def shown_prefix(self, token: PersonalToken) -> str:
        return f"{token.prefix}…"

    @display(description=_("state"), label={"live": "success", "revoked": "danger", "expired": "warning"})
    def state(self, token: PersonalToken) -> tuple[str, Any]:
        if token.revoked_at is not None:
            return "revoked", _("✕ revoked")
        return ("live", _("● live")) if token.is_live else ("expired", _("◌ expired"))

    @display(description=_("state"))
    def state_in_words(self, token: PersonalToken) -> Any:
        return self.state(token)[1]

    def save_model(self, request: HttpRequest, token: PersonalToken, form: forms.ModelForm, change: bool) -> None:
        if not change:
            made = make_token()
            token.prefix, token.sha256 = made.prefix, made.sha256
            request.made_token = made  # type: ignore[attr-defined]  # for this answer only
        super().save_model(request, token, form, change)

    def response_add(
        self, request: HttpRequest, token: PersonalToken, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The only page that ever shows the token: not a redirect, which would have to keep it somewhere.

        Every admin page is sent with `no-store`, this one too.
        """
        made: NewToken = request.made_token  # type: ignore[attr-defined]
        context = {
            **self.admin_site.each_context(request),
            "title": _("Personal token made"),
            "token": token,
            "plain": made.plain,
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/accounts/personaltoken/made.html", context)

    @admin.action(description=_("Revoke the chosen tokens now"), permissions=["change"])
    def revoke(self, request: HttpRequest, tokens: QuerySet[PersonalToken]) -> None:
        revoked = [self._revoke(token) for token in tokens.filter(revoked_at=None)]
        message = ngettext("%d token revoked.", "%d tokens revoked.", len(revoked)) % len(revoked)
        self.message_user(request, message)

    @action(description=_("Revoke now"), permissions=["change"], icon="block", dialog=REVOKE_DIALOG)
    def revoke_this(self, request: HttpRequest, form: Any, object_id: str) -> HttpResponse:
        token = self.get_object(request, object_id)
        if token is not None and token.revoked_at is None:
            self._revoke(token)
            self.message_user(request, _("The token is revoked: its next request is refused."))
        return HttpResponse(headers={"HX-Redirect": reverse("admin:accounts_personaltoken_changelist")})

    def _revoke(self, token: PersonalToken) -> PersonalToken:
        """Saved one by one: each save tells the running processes."""
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        return token
