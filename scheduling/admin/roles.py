"""Roles with their candidates, best first."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.forms.models import BaseModelFormSet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from scheduling.models import Role, RoleCandidate

# Strategies that act today. The others rest on predictions over several lines and on budgets: they are offered as soon
# as they do what they say.
OFFERED = (Role.Strategy.ORDERED, Role.Strategy.ROUND_ROBIN, Role.Strategy.CHEAPEST)


class CandidateInline(TabularInline):
    model = RoleCandidate
    fields = ("model", "position")
    extra = 0
    ordering = ("position", "pk")
    ordering_field = "position"
    hide_ordering_field = True


@admin.register(Role)
class RoleAdmin(ModelAdmin):
    list_display = ("name", "description", "chain", "strategy", "enabled")
    list_filter = ("enabled", "strategy")
    search_fields = ("name", "description")
    inlines = (CandidateInline,)
    fieldsets = (
        (None, {"fields": ("name", "description", "enabled")}),
        (_("Which candidate"), {"fields": ("strategy", "patience_s")}),
    )

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        if db_field.name == "strategy":
            options["choices"] = [(strategy.value, strategy.label) for strategy in OFFERED]
        return super().formfield_for_choice_field(db_field, request, **options)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Role]:
        roles: QuerySet[Role] = super().get_queryset(request)
        return roles.prefetch_related("candidates__model")

    def save_formset(
        self, request: HttpRequest, form: forms.ModelForm, formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        """A new candidate that was not dragged to a place stands last."""
        formset.save(commit=False)
        last = max((candidate.position for candidate in form.instance.candidates.all()), default=-1)
        for place, candidate in enumerate(formset.new_objects, start=last + 1):
            candidate.position = candidate.position or place
        formset.save()

    @display(description=_("candidates, best first"))
    def chain(self, role: Role) -> str:
        return " → ".join(str(candidate.model) for candidate in role.candidates.all()) or "–"
