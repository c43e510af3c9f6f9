"""People, tokens and usage in the admin."""

from accounts.admin.people import TeamAdmin, UserAdmin
from accounts.admin.tokens import PersonalTokenAdmin
from accounts.admin.usage import UsageRowAdmin

__all__ = ["PersonalTokenAdmin", "TeamAdmin", "UsageRowAdmin", "UserAdmin"]
