"""One URL of the Valkey store, in the forms its clients read.

`VALKEY_URL` is `unix:///path/to.sock`, `redis://…`, `rediss://…` or `valkey://…`. redis-py and channels-redis
read the first three; kombu (Celery's broker) spells a socket `redis+socket://`.
"""

from __future__ import annotations

from pathlib import Path

LONGEST_SOCKET_PATH = 107  # bytes: sun_path of 108 less its terminator


def socket_url(path: Path) -> str:
    return f"unix://{path}"


def client_url(valkey_url: str) -> str:
    """For redis-py and channels-redis."""
    for ours, theirs in (("valkey://", "redis://"), ("valkeys://", "rediss://")):
        if valkey_url.startswith(ours):
            return theirs + valkey_url.removeprefix(ours)
    return valkey_url


def broker_url(valkey_url: str) -> str:
    """For Celery. Without a store: in memory, which serves one process (tests)."""
    if not valkey_url:
        return "memory://"
    if valkey_url.startswith("unix://"):
        return "redis+socket://" + valkey_url.removeprefix("unix://")
    return client_url(valkey_url)
