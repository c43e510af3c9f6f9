"""The admin's pages that more than one app has a part in."""

from relay_project.admin.lane_profiles import RelayLaneProfileAdmin
from relay_project.admin.providers import RelayProviderAdmin
from relay_project.admin.together import RelayModelAdmin

__all__ = ["RelayLaneProfileAdmin", "RelayModelAdmin", "RelayProviderAdmin"]
