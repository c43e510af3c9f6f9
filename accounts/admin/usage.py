"""Usage rows: to look at, never to change."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RangeDateTimeFilter
from unfold.decorators import display

from accounts.models import UsageRow
from accounts.usage_page.words import GOOD, OUTCOME_WORDS, REASON_WORDS, SHAPES, WARN

COLOURS = {"good": "success", "warn": "warning", "bad": "danger"}


@admin.register(UsageRow)
class UsageRowAdmin(ModelAdmin):
    list_display = ("created_at", "who", "asked", "ended", "why", "waited", "ran", "tokens", "measured")
    list_filter = (
        ("created_at", RangeDateTimeFilter),
        "outcome",
        "klass",
        "provider",
        "model",
        "role",
        "measured",
    )
    list_filter_submit = True
    list_select_related = ("user", "team")
    search_fields = ("request_id", "user__username", "model", "reason")
    date_hierarchy = "created_at"
    show_full_result_count = False  # the table grows by every request

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description=_("who"))
    def who(self, row: UsageRow) -> str:
        return str(row.user or row.team or "–")

    @display(description=_("asked for"))
    def asked(self, row: UsageRow) -> str:
        return f"{row.role} → {row.model}" if row.role else row.model

    @display(description=_("ended"), ordering="outcome", label=COLOURS)
    def ended(self, row: UsageRow) -> tuple[str, str]:
        kind = "good" if row.outcome in GOOD else "warn" if row.outcome in WARN else "bad"
        return kind, f"{SHAPES[kind]} {OUTCOME_WORDS.get(row.outcome, row.outcome)}"

    @display(description=_("reason"), ordering="reason", empty_value="–")
    def why(self, row: UsageRow) -> Any:
        return REASON_WORDS.get(row.reason, row.reason) or None

    @display(description=_("waited"), ordering="queue_ms")
    def waited(self, row: UsageRow) -> str:
        return f"{row.queue_ms / 1000:.1f} s"

    @display(description=_("ran"), ordering="run_ms")
    def ran(self, row: UsageRow) -> str:
        return f"{row.run_ms / 1000:.1f} s"

    @display(description=_("tokens in / out"))
    def tokens(self, row: UsageRow) -> str:
        return " / ".join("–" if n is None else f"{n:,}" for n in (row.prompt_tokens, row.completion_tokens))
