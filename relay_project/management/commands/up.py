"""`manage.py up`: the whole relay on this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from relay_project.server.errors import CannotStart
from relay_project.server.first_run import FirstRun
from relay_project.server.up import Up, UpOptions
from scheduling.clock import SystemClock

FIXED_PASSWORD = "RELAY_DEMO_PASSWORD"  # noqa: S105  the name of a variable
FIXED_TOKEN = "RELAY_DEMO_TOKEN"  # noqa: S105


class Command(BaseCommand):
    help = "Start the relay: embedded Valkey, migrations, demo data, Celery and N servers. Ctrl-C stops all."
    requires_system_checks: list[str] = []  # a fresh database has no tables yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--server", choices=("daphne", "uvicorn"), default="daphne")
        parser.add_argument("--workers", type=int, default=1, help="server processes (default 1)")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=settings.ENV.port, help="0 = any free one; default PORT")
        parser.add_argument("--no-demo", action="store_true", help="no simulator and no demo data in an empty database")
        parser.add_argument(
            "--data-dir", help="default RELAY_DATA_DIR, else var/"
        )  # read in manage.py, before settings

    def handle(self, *args: object, **options: Any) -> None:
        if options["workers"] < 1:
            raise CommandError("--workers must be at least 1.")
        _refuse_fixed_secrets_outside(options["host"])
        data_dir = Path(settings.ENV.data_dir)
        first_run = FirstRun(data_dir, os.environ.get(FIXED_PASSWORD), os.environ.get(FIXED_TOKEN))
        try:
            asyncio.run(Up(_up_options(data_dir, options), first_run, SystemClock(), self._say).run())
        except CannotStart as error:
            raise CommandError(str(error)) from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _up_options(data_dir: Path, options: dict[str, Any]) -> UpOptions:
    return UpOptions(
        server=options["server"],
        workers=options["workers"],
        host=options["host"],
        port=options["port"],
        data_dir=data_dir,
        valkey_url=settings.ENV.valkey_url,
        with_demo=not options["no_demo"],
        drain_limit_s=settings.ENV.drain_limit_s,
        health_host=_allowed_host(settings.ALLOWED_HOSTS),
    )


def _refuse_fixed_secrets_outside(host: str) -> None:
    """Fixed secrets are known secrets: for scripts on this machine only."""
    named = [name for name in (FIXED_PASSWORD, FIXED_TOKEN) if os.environ.get(name)]
    if named and not _is_loopback(host):
        raise CommandError(f"{' and '.join(named)} may be set on a loopback address only, and --host is {host}.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _allowed_host(allowed_hosts: list[str]) -> str:
    """A host name that passes ALLOWED_HOSTS, for asking our own servers."""
    first = allowed_hosts[0] if allowed_hosts else "*"
    return "127.0.0.1" if first == "*" else first.removeprefix(".")
