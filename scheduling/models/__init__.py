"""When and where: lanes, roles and quota states."""

from scheduling.models.lanes import LaneProfile, LaneWindow, ModelOverride, RelayLimits
from scheduling.models.quota import QuotaState
from scheduling.models.roles import Role, RoleCandidate
from scheduling.models.store import StoreEpoch, StoreProcess

__all__ = [
    "LaneProfile",
    "LaneWindow",
    "ModelOverride",
    "QuotaState",
    "RelayLimits",
    "Role",
    "RoleCandidate",
    "StoreEpoch",
    "StoreProcess",
]
