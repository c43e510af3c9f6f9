"""Lanes, roles and quota states in the admin."""

from scheduling.admin.lanes import LaneProfileAdmin, ModelOverrideAdmin, RelayLimitsAdmin
from scheduling.admin.quota import QuotaStateAdmin
from scheduling.admin.roles import RoleAdmin

__all__ = ["LaneProfileAdmin", "ModelOverrideAdmin", "QuotaStateAdmin", "RelayLimitsAdmin", "RoleAdmin"]
