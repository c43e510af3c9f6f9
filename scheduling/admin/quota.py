"""Quota states: what is used up and until when, and the way out."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from scheduling.models import QuotaState

# A dialog, not a plain link: what changes something must come by POST.
RESET_DIALOG = {
    "title": _("Reset this quota state now?"),
    "description": _("The next call tries it, in all processes at once."),
    "form_submit_text": _("Reset now"),
}


class OpenFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("closed", _("closed now")), ("open", _("open again"))]

    def queryset(self, request: HttpRequest, states: QuerySet[QuotaState]) -> QuerySet[QuotaState]:
        closed = {"cleared_at": None, "until__gt": timezone.now()}
        if self.value() == "closed":
            return states.filter(**closed)
        return states.exclude(**closed) if self.value() == "open" else states


@admin.register(QuotaState)
class QuotaStateAdmin(ModelAdmin):
    list_display = ("what", "state", "reason", "limit_name", "since", "until")
    list_filter = (OpenFilter, "provider", "scope", "reason")
    list_select_related = ("provider", "model", "credential")
    search_fields = ("provider__name", "model__public_name", "limit_name", "reason")
    actions = ("reset_now",)
    actions_detail = ("reset_this_now",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: QuotaState | None = None) -> list[str]:
        """The provider said it; nobody edits it. The way out is the reset."""
        return [field.name for field in QuotaState._meta.fields if field.name != "id"]

    @display(description=_("what"))
    def what(self, state: QuotaState) -> str:
        part = state.model or state.credential
        return f"{state.provider} · {part}" if part else str(state.provider)

    @display(description=_("state"), label={"closed": "danger", "open": "success"})
    def state(self, state: QuotaState) -> tuple[str, Any]:
        return ("closed", _("✕ closed")) if state.is_closed else ("open", _("● open again"))

    @admin.action(description=_("Reset quota state now"), permissions=["change"])
    def reset_now(self, request: HttpRequest, states: QuerySet[QuotaState]) -> None:
        count = sum(self._reset(state, request) for state in states)
        self.message_user(request, ngettext("%d opened again.", "%d opened again.", count) % count)

    @action(description=_("Reset quota state now"), permissions=["change"], icon="lock_open", dialog=RESET_DIALOG)
    def reset_this_now(self, request: HttpRequest, form: Any, object_id: str) -> HttpResponse:
        state = self.get_object(request, object_id)
        if state is not None and self._reset(state, request):
            self.message_user(request, _("Opened again: the next call tries it."))
        return HttpResponse(headers={"HX-Redirect": reverse("admin:scheduling_quotastate_changelist")})

    def _reset(self, state: QuotaState, request: HttpRequest) -> bool:
        """Saved one by one: each save tells the running processes."""
        if not state.is_closed:
            return False
        state.cleared_at = timezone.now()
        entry = {"at": state.cleared_at.isoformat(), "event": "reset", "by": request.user.get_username()}
        state.history = [*state.history, entry]
        state.save(update_fields=["cleared_at", "history"])
        return True
