"""The database side of a start: migrations, and demo data in an empty one. Synchronous; called in a thread.

The demo's provider is the simulator. Its port is kept in the data folder, so that the address in the database
stays true over restarts.
"""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connections

from relay_project.demo import Demo, make_demo
from relay_project.env import BASE_DIR
from relay_project.server.children import ChildSpec
from relay_project.server.errors import DatabaseNotReady

SIMULATOR_HOST = "127.0.0.1"
PORT_FILE = "simulator.port"


@dataclass(frozen=True, slots=True)
class DemoPlan:
    simulator_port: int
    database_is_empty: bool

    def simulator(self, keep_fds: tuple[int, ...]) -> ChildSpec:
        command = (
            sys.executable,
            str(BASE_DIR / "manage.py"),
            "simulator",
            "--port",
            str(self.simulator_port),
        )
        return ChildSpec("The simulator", command, keep_fds=keep_fds)


@dataclass(frozen=True, slots=True)
class FirstRun:
    data_dir: Path
    password: str | None  # fixes the demo admin's password; None = a random one
    token: str | None  # fixes the demo's personal token; None = a random one

    def migrate(self) -> None:
        """Raises `DatabaseNotReady`."""
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except (DatabaseError, CommandError, ValueError) as error:
            raise DatabaseNotReady(
                f"The database cannot be brought up to date, so nothing was started: {error}"
            ) from error
        finally:
            connections.close_all()

    def plan_demo(self) -> DemoPlan | None:
        """What the demo needs; None where there are users but no demo of ours."""
        kept = self.data_dir / PORT_FILE
        try:
            is_empty = not get_user_model()._default_manager.exists()
        finally:
            connections.close_all()
        if kept.exists():
            return DemoPlan(int(kept.read_text()), is_empty)
        if not is_empty:
            return None
        kept.write_text(f"{_free_port()}\n")
        return DemoPlan(int(kept.read_text()), is_empty)

    def make_demo(self, plan: DemoPlan) -> Demo | None:
        """The demo just made, with its secrets in plain text, once; None when there was something already."""
        if not plan.database_is_empty:
            return None
        try:
            return make_demo(
                f"http://{SIMULATOR_HOST}:{plan.simulator_port}/v1", password=self.password, token=self.token
            )
        finally:
            connections.close_all()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((SIMULATOR_HOST, 0))
        port: int = probe.getsockname()[1]
        return port
