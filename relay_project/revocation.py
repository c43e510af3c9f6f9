"""Who has lost the right to be here between two versions of the configuration. Pure.

A personal token that was revoked or deleted, a user who was deactivated or deleted: what waits in their name leaves the
line, what runs in their name is stopped. A team that is gone takes nobody along: its members are still there.
"""

from __future__ import annotations

from relay_project.snapshot import Configuration

_PERSONS = ("user:", "token:")


def revoked_keys(before: Configuration | None, after: Configuration) -> frozenset[str]:
    """Keys, as in `Ask.limits` (`token:3`, `user:7`), that stood in the version before and are gone from this one."""
    return frozenset() if before is None else _live_keys(before) - _live_keys(after)


def _live_keys(configuration: Configuration) -> frozenset[str]:
    flows = configuration.scheduler.flows if configuration.scheduler is not None else {}
    return frozenset(key for key in flows if key.startswith(_PERSONS))
