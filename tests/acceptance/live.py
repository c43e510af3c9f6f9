"""A relay seen from outside while it works: its queue, its processes' open files and threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.acceptance.served import ServedRelay
from tests.acceptance.waiting import wait_until

IN_FORCE_WITHIN_S = 3.0  # a change by another process is seen within half a second


def queue_of(relay: ServedRelay) -> dict[str, Any]:
    """`GET /api/queue` as the member sees it."""
    headers = {"Authorization": f"Bearer {relay.token}"}
    answer = httpx.get(f"{relay.base_url}/api/queue", headers=headers, trust_env=False, timeout=10)
    picture: dict[str, Any] = answer.raise_for_status().json()
    return picture


def held_in(picture: dict[str, Any]) -> tuple[int, int]:
    """Running and waiting, counted over everything the picture shows of them."""
    places = [picture["relay"], *picture["providers"], *(m for p in picture["providers"] for m in p["models"])]
    return sum(place["running"] for place in places), sum(place["waiting"] for place in places)


def wait_until_empty(relay: ServedRelay, within_s: float = 2) -> None:
    wait_until(lambda: held_in(queue_of(relay)) == (0, 0), within_s, "empty relay")


def wait_until_in_force(relay: ServedRelay, is_so: Callable[[dict[str, Any]], bool]) -> None:
    """Until the queue's picture shows a configuration that another process has saved."""
    wait_until(lambda: is_so(queue_of(relay)), IN_FORCE_WITHIN_S, "the new configuration")


def provider_in(picture: dict[str, Any], slug: str) -> dict[str, Any] | None:
    return next((provider for provider in picture["providers"] if provider["id"] == slug), None)


def server_pid(relay: ServedRelay) -> int:
    (pid,) = relay.pids(named="-m relay_project.server")
    return pid


def thread_count(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def open_files(pid: int) -> list[str]:
    """What each open descriptor of a process is: a path, `socket:[inode]`, `pipe:[inode]` …"""
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.append(str(descriptor.readlink()))
    return found


def tcp_inodes() -> set[str]:
    """`socket:[inode]` of every TCP socket of this machine."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return {f"socket:[{columns[9]}]" for columns in lines if columns[0] != "sl"}
