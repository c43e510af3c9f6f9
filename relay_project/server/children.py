"""A child process: how it is started, and that it cannot outlive its parent.

Each child leads its own session, so that Ctrl-C in the terminal reaches only the supervisor and a child can
be ended with all it has started. The kernel signals it when the supervisor dies without a word (Linux;
elsewhere a killed supervisor leaves its children).
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

READY_FD = "RELAY_READY_FD"  # environment variable: the pipe on which a child says that it is ready

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None  # loaded before any fork


@dataclass(frozen=True, slots=True)
class ChildSpec:
    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)  # added to ours
    cwd: Path | None = None
    user: tuple[int, int] | None = None  # uid and gid to become, None = stay
    announces: bool = False  # writes to READY_FD when it is ready
    stop_within_s: float = 5.0  # after SIGTERM; then it is killed with its whole session
    orphan_signal: signal.Signals = signal.SIGKILL  # from the kernel when the supervisor has died
    keep_fds: tuple[int, ...] = ()


class Announcement:
    """The reading end of a child's ready pipe."""

    def __init__(self) -> None:
        self._read_fd, self.write_fd = os.pipe()

    async def wait(self) -> bool:
        """True when the child said that it is ready, False when it ended without."""
        loop = asyncio.get_running_loop()
        heard = asyncio.Event()
        loop.add_reader(self._read_fd, heard.set)
        try:
            await heard.wait()
            return bool(os.read(self._read_fd, 64))
        finally:
            loop.remove_reader(self._read_fd)
            os.close(self._read_fd)


async def spawn(spec: ChildSpec, announcement: Announcement | None = None) -> asyncio.subprocess.Process:
    """Start it. Call from the main thread: the kernel ties the orphan signal to the starting thread."""
    options = popen_options(spec)
    if announcement is not None:
        options["env"][READY_FD] = str(announcement.write_fd)
        options["pass_fds"] = (*spec.keep_fds, announcement.write_fd)
    try:
        return await asyncio.create_subprocess_exec(*spec.argv, **options)
    finally:
        if announcement is not None:
            os.close(announcement.write_fd)


def spawn_now(spec: ChildSpec) -> subprocess.Popen[bytes]:
    """The same without an event loop."""
    return subprocess.Popen(spec.argv, **popen_options(spec))  # noqa: S603  our own programs


def popen_options(spec: ChildSpec) -> dict[str, Any]:
    options: dict[str, Any] = {
        "env": {**os.environ, **spec.env},
        "cwd": spec.cwd,
        "stdin": subprocess.DEVNULL,
        "start_new_session": True,
        "pass_fds": spec.keep_fds,
        "preexec_fn": partial(_die_with, os.getpid(), spec.orphan_signal),  # after the change of user, which clears it
    }
    if spec.user is not None:
        uid, gid = spec.user
        options |= {"user": uid, "group": gid, "extra_groups": []}
    return options


def _die_with(parent_pid: int, orphan_signal: int) -> None:
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(orphan_signal))
        if os.getppid() != parent_pid:  # it died in between
            os._exit(1)


def die_with_parent(orphan_signal: int = signal.SIGKILL) -> None:
    """For a child that was started by others (Celery's pool): ask it of the kernel from inside."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(orphan_signal))


def signal_session(pid: int, number: int) -> None:
    """To all of a child's session; nobody there any more is fine."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass


def how_it_ended(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
