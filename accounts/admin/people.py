"""Users, teams and groups."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.admin.fields import DollarField
from accounts.models import Team, User

BUDGET = _("monthly budget, US dollars")
LIMITS: tuple[Any, Any] = (
    _("Limits of their own"),
    {
        "fields": ("weight", "max_concurrent", "rpm", "tpm", "monthly_budget_microusd"),
        "description": _("Beside the providers' limits. Empty: not limited."),
    },
)


class PersonForm(UserChangeForm):
    monthly_budget_microusd = DollarField(label=BUDGET)


class TeamForm(forms.ModelForm):
    monthly_budget_microusd = DollarField(label=BUDGET)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):
    form = PersonForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "team", "is_active", "is_staff", "last_login")
    list_filter = ("team", "is_active", "is_staff")
    list_select_related = ("team",)
    autocomplete_fields = ("team",)
    fieldsets = (
        (None, {"fields": ("username", "password", "first_name", "last_name", "email", "team", "language")}),
        LIMITS,
        (_("Rights"), {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")


@admin.register(Team)
class TeamAdmin(ModelAdmin):
    form = TeamForm
    list_display = ("name", "weight", "max_concurrent", "rpm", "tpm")
    search_fields = ("name",)
    fieldsets = ((None, {"fields": ("name",)}), LIMITS)


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    pass
