"""Processes of a measurement: started, pinned to a core, waited for, ended. Linux: /proc and CPU affinity."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.plan import Entrance
from relay_project.server.children import ChildSpec, popen_options, signal_session

READY_WITHIN_S = 90.0
STOP_WITHIN_S = 10.0
_KILL = 9
_TICK_US = 1_000_000 / os.sysconf("SC_CLK_TCK")


class DidNotStart(Exception):
    """A process ended or kept silent; its last words."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Server and callers must not take each other's time. None: nothing to choose from, nothing is pinned."""

    server: int | None
    callers: int | None  # the load tool and the upstream


def pick_cores(available: Sequence[int]) -> Cores:
    return Cores(available[0], available[-1]) if len(available) > 1 else Cores(None, None)


@dataclass(frozen=True, slots=True)
class Variant:
    """A running way to the upstream."""

    name: str
    entrance: Entrance
    pid: int | None  # of the server; None: there is none
    is_peer: bool = False  # somebody else's: where it fails, the others go on without it


class Bench:
    """Where processes run: a folder for what they write. All are ended when `held` is closed, the latest first."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self.folder = folder
        self._held = held

    def start(self, spec: ChildSpec, core: int | None, is_ready: Callable[[], bool]) -> int:
        """Returns its process id once it is ready. Raises `DidNotStart`."""
        log = self.folder / f"{spec.name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(spec.argv, **popen_options(spec), stdout=output, stderr=output)
        self._held.callback(end, process)
        pin(process.pid, core)
        give_up_at = time.monotonic() + READY_WITHIN_S
        while not is_ready():
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise DidNotStart(f"{spec.name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        return process.pid


def end(process: subprocess.Popen[bytes]) -> None:
    """Politely, then with all it has started."""
    process.terminate()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        pass
    signal_session(process.pid, _KILL)
    process.wait()


def pin(pid: int, core: int | None) -> None:
    """Threads started later inherit it."""
    if core is not None:
        os.sched_setaffinity(pid, {core})


def cpu_us(pid: int) -> float:
    """User and system time of a process, all its threads."""
    return read_cpu_ticks(Path(f"/proc/{pid}/stat").read_text()) * _TICK_US


def read_cpu_ticks(stat: str) -> int:
    """utime + stime, fields 14 and 15; the command, field 2, may hold blanks and brackets."""
    after_command = stat.rpartition(")")[2].split()
    return int(after_command[11]) + int(after_command[12])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
