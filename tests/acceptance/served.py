"""A real relay for acceptance tests: `manage.py up` with all its processes, on free ports, in a folder of its own.

    @pytest.mark.served
    def test_something(relay: ServedRelay): ...            # the shared one, default lanes, daphne

    def test_other(serve: Serve):
        with serve(server="uvicorn", workers=2) as relay: ...  # one of its own

Every relay is stopped at the end, and the test fails when it leaves a process behind.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import environ
import psycopg

ROOT = Path(__file__).resolve().parents[2]
START_WITHIN_S = 90
STOP_WITHIN_S = 60
TOKEN = "rk-" + "served-" * 6 + "1"
PASSWORD = "served-password-1"
# What the test run has set for itself must not leak into the relay under test.
NOT_INHERITED = ("SECRET_KEY", "RELAY_ENCRYPTION_KEYS", "ALLOWED_HOSTS", "VALKEY_URL", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True)
class ServedOptions:
    server: str = "daphne"
    workers: int = 1
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class ServedRelay:
    """A running relay. `base_url` has no path; `simulator_url` is the root of its demo provider's upstream."""

    token = TOKEN
    admin_username = "admin"
    admin_password = PASSWORD

    def __init__(self, data_dir: Path, options: ServedOptions) -> None:
        self.data_dir = data_dir
        self.options = options
        self._environment = _environment(data_dir, options)
        self.process = subprocess.Popen(
            [*self._command("up"), "--port", "0", *_arguments(options)],
            env=self._environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.output = Output(self.process.stdout)
        self.base_url = ""
        self.simulator_url = ""

    def wait_until_ready(self) -> None:
        self.base_url = self.output.value_of("Relay", START_WITHIN_S)
        if "--no-demo" not in self.options.arguments:
            self.simulator_url = self.output.value_of("Simulator", START_WITHIN_S)

    @property
    def api_url(self) -> str:
        """For OpenAI's SDK."""
        return f"{self.base_url}/v1"

    @property
    def port(self) -> int:
        return urlsplit(self.base_url).port or 0

    @property
    def valkey_url(self) -> str:
        return self.options.environment.get("VALKEY_URL", f"unix://{self.data_dir}/valkey/valkey.sock")

    def manage(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a management command against this relay's database; its output is text."""
        return subprocess.run(
            self._command(*arguments),
            env=self._environment | {"VALKEY_URL": self.valkey_url},
            cwd=ROOT,
            check=check,
            capture_output=True,
            text=True,
        )

    def start_managing(self, *arguments: str) -> subprocess.Popen[str]:
        """A management command that goes on, with its input and output; to be ended before the relay is stopped."""
        return subprocess.Popen(
            self._command(*arguments),
            env=self._environment | {"VALKEY_URL": self.valkey_url},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def shell(self, code: str) -> str:
        """Run Python with the relay's settings and database; returns what it printed."""
        return self.manage("shell", "--verbosity", "0", "--command", code).stdout.strip()

    def pids(self, named: str = "") -> list[int]:
        """All processes of this relay, however they were started; `named`: part of the command line."""
        return [pid for pid in _pids_of(self.data_dir) if named in _command_line(pid)]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal `up`, wait for its end and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(STOP_WITHIN_S)

    def close(self) -> list[str]:
        """Stop it if it runs; returns the command lines of processes left behind, which are killed."""
        self.stop()
        left = [f"{pid}: {_command_line(pid)}" for pid in self.wait_until_gone()]
        for line in left:
            os.kill(int(line.partition(":")[0]), signal.SIGKILL)
        self.output.close()
        return left

    def wait_until_gone(self, within_s: float = 3) -> list[int]:
        """The processes that are still there after `within_s`."""
        end = time.monotonic() + within_s
        while (left := self.pids()) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), *arguments]


class Output:
    """What `up` and its children print, collected line by line."""

    def __init__(self, stream: IO[str] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._stream:
            with self._news:
                self._lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def value_of(self, label: str, within_s: float) -> str:
        """Wait for a line `label: value`."""
        return self.wait_for(rf"^{label}: (.+)$", within_s)[1]

    def wait_for(self, pattern: str, within_s: float, count: int = 1) -> re.Match[str]:
        """Wait for the `count`-th line that matches; fails with all that was printed."""
        with self._news:
            self._news.wait_for(lambda: self._ended or len(self._matches(pattern)) >= count, within_s)
            matches = self._matches(pattern)
        assert len(matches) >= count, f"no {pattern!r} in:\n{self.text}"
        return matches[count - 1]

    def _matches(self, pattern: str) -> list[re.Match[str]]:
        return [match for line in self._lines if (match := re.search(pattern, line))]

    def close(self) -> None:
        self._reader.join(5)
        self._stream.close()


@contextlib.contextmanager
def served_relay(data_dir: Path, options: ServedOptions) -> Iterator[ServedRelay]:
    """Start a relay and wait until it serves; stop it at the end, leaving nothing behind."""
    with own_database(options) as with_database:
        relay = ServedRelay(data_dir, with_database)
        left: list[str] = []
        try:
            relay.wait_until_ready()
            yield relay
        finally:
            left = relay.close()
        assert left == [], "processes left behind"


@contextlib.contextmanager
def own_database(options: ServedOptions) -> Iterator[ServedOptions]:
    """On PostgreSQL (DATABASE_URL of the test run) each relay gets a database of its own; SQLite lies in its folder."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield options
        return
    server, name = url.rpartition("/")[0], f"relay_{secrets.token_hex(6)}"
    _execute(url, f"CREATE DATABASE {name}")
    try:
        environment = {"DATABASE_URL": f"{server}/{name}", **options.environment}
        yield ServedOptions(options.server, options.workers, options.arguments, environment)
    finally:
        _execute(url, f"DROP DATABASE {name} WITH (FORCE)")


def _execute(url: str, statement: str) -> None:
    parts = {name.lower(): value for name, value in environ.Env.db_url_config(url).items() if value}
    known = {name: parts[name] for name in ("host", "port", "user", "password") if name in parts}
    with psycopg.connect(dbname=parts["name"], autocommit=True, **known) as connection:
        connection.execute(statement.encode())


def _environment(data_dir: Path, options: ServedOptions) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    own = {
        "RELAY_DATA_DIR": str(data_dir),
        "RELAY_DEMO_PASSWORD": PASSWORD,
        "RELAY_DEMO_TOKEN": TOKEN,
        "RELAY_DRAIN_LIMIT_S": "5",
    }
    return inherited | own | dict(options.environment)


def _arguments(options: ServedOptions) -> list[str]:
    return ["--server", options.server, "--workers", str(options.workers), *options.arguments]


def _pids_of(data_dir: Path) -> list[int]:
    """By the environment they were started with, which children inherit whatever they do to their session, or by the
    folder they work in (Valkey writes over its environment)."""
    variable = f"RELAY_DATA_DIR={data_dir}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
            works_there = (process / "cwd").readlink().is_relative_to(data_dir)
            if works_there or variable in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""
