"""What stands side by side: the way to the upstream with nothing, little, or the relay in between."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cryptography.fernet import Fernet

from bench.figures import DIRECT
from bench.peers import start_peers
from bench.plan import Entrance
from bench.processes import Bench, Cores, Variant, accepts, free_port
from bench.upstream import MODEL
from relay_project.server.children import ChildSpec
from relay_project.server.valkey import prepare_valkey

SERVERS = ("daphne", "uvicorn")


def start_variants(bench: Bench, cores: Cores) -> Iterator[Variant]:
    """Start the upstream, then each variant as it is asked for. Raises `DidNotStart`."""
    upstream_port = _start_module(bench, "bench.upstream", cores.callers)[0]
    yield Variant(DIRECT, Entrance(upstream_port, MODEL), None)
    port, pid = _start_module(bench, "bench.forwarder", cores.server, str(upstream_port))
    yield Variant("bare forwarder", Entrance(port, MODEL), pid)
    upstream_url = f"http://127.0.0.1:{upstream_port}/v1"
    yield from _start_relays(bench, cores, upstream_url)
    yield from start_peers(bench, cores.server, upstream_url)


def _start_module(bench: Bench, module: str, core: int | None, *arguments: str) -> tuple[int, int]:
    port = free_port()
    spec = ChildSpec(module, (sys.executable, "-m", module, str(port), *arguments))
    return port, bench.start(spec, core, partial(accepts, port))


def _start_relays(bench: Bench, cores: Cores, upstream_url: str) -> Iterator[Variant]:
    """One installation, two servers, one worker each; only the one that is measured has anything to do."""
    valkey = prepare_valkey(bench.folder / "valkey")
    bench.start(valkey.spec, cores.callers, valkey.answers)
    env = _environment(bench.folder, valkey.url)
    token = _make_installation(env, upstream_url)
    for server in SERVERS:
        port = free_port()
        module = (sys.executable, "-m", "relay_project.server")
        spec = ChildSpec(f"relay on {server}", (*module, "--server", server, "--port", str(port)), env)
        pid = bench.start(spec, cores.server, partial(accepts, port))
        yield Variant(spec.name, Entrance(port, MODEL, headers={"authorization": f"Bearer {token}"}), pid)


def _environment(folder: Path, valkey_url: str) -> dict[str, str]:
    """Everything is said, so that no setting of the surroundings leads to a database that is in use."""
    return {
        "DJANGO_SETTINGS_MODULE": "relay_project.settings",
        "RELAY_DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'relay.sqlite3'}",
        "VALKEY_URL": valkey_url,
        "SECRET_KEY": secrets.token_urlsafe(50),
        "RELAY_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "ALLOWED_HOSTS": "127.0.0.1",
        "DEBUG": "false",
    }


def _make_installation(env: dict[str, str], upstream_url: str) -> str:
    """The personal token. In a process of its own: Django reads its settings once."""
    made = subprocess.run(
        [sys.executable, "-m", "bench.rows", upstream_url],
        env={**os.environ, **env},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return made.stdout.strip()
