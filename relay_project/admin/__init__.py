"""The admin's pages that more than one app has a part in."""

from relay_project.admin.learned import LearnedProfileAdmin
from relay_project.admin.providers import RelayProviderAdmin

__all__ = ["LearnedProfileAdmin", "RelayProviderAdmin"]
