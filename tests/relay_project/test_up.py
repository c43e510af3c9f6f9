"""`manage.py up`: the processes of a relay, real ones."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from relay_project.server.installation import lock
from tests.acceptance.served import ROOT, ServedOptions, ServedRelay, own_database, served_relay

pytestmark = [pytest.mark.served, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRelay]:
    """Two server processes, for all tests that find or bring them back as they were."""
    with served_relay(tmp_path_factory.mktemp("pair") / "data", ServedOptions(workers=2)) as relay:
        yield relay


def status_of(relay: ServedRelay, path: str, headers: dict[str, str] | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=20)
    try:
        connection.request("GET", path, headers=headers or {})
        return connection.getresponse().status
    finally:
        connection.close()


def until(is_so: Any, within_s: float = 30) -> None:
    end = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def with_token(relay: ServedRelay) -> dict[str, str]:
    return {"Authorization": f"Bearer {relay.token}"}


# Started


def test_it_serves_with_the_admin_and_the_token_it_has_printed(pair: ServedRelay) -> None:
    assert pair.output.value_of("Admin", 1) == f"{pair.admin_username} / {pair.admin_password}"
    assert pair.output.value_of("Personal token", 1) == pair.token
    assert status_of(pair, "/healthz") == 200
    assert status_of(pair, "/admin/login/") == 200
    assert status_of(pair, "/v1/models", with_token(pair)) == 200


def test_its_processes_are_those_that_were_asked_for(pair: ServedRelay) -> None:
    assert len(pair.pids("relay_project.server")) == 2
    assert len(pair.pids("valkey-server")) == 1
    assert len(pair.pids("simulator")) == 1
    assert pair.pids(" beat ")
    assert pair.pids(" worker ")


OLD_ROW = """
from datetime import timedelta
from django.utils import timezone
from accounts.models import UsageRow
from relay_project.celery import RETENTION_TASK, app
row = UsageRow.objects.create(request_id="old", outcome="completed")
UsageRow.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=4000))
app.send_task(RETENTION_TASK)
"""


def test_a_task_goes_through_the_broker_to_the_worker(pair: ServedRelay) -> None:
    pair.shell(OLD_ROW)
    count = "from accounts.models import UsageRow; print(UsageRow.objects.filter(request_id='old').count())"
    until(lambda: pair.shell(count) == "0")


# Kept running


def test_a_killed_server_comes_back_while_the_other_serves_on(pair: ServedRelay) -> None:
    victim = pair.pids("relay_project.server")[0]
    os.kill(victim, signal.SIGKILL)
    pair.output.wait_for(r"^Relay server \d was ended by SIGKILL; starting it again", 5)
    for _ in range(20):
        assert status_of(pair, "/healthz") == 200
    until(lambda: len(pair.pids("relay_project.server")) == 2)
    assert victim not in pair.pids()


def test_a_killed_valkey_comes_back_with_what_it_had(pair: ServedRelay) -> None:
    with redis.Redis.from_url(pair.valkey_url) as store:
        store.set("kept", "yes")
        time.sleep(1.5)  # its log goes to the disk every second
        os.kill(pair.pids("valkey-server")[0], signal.SIGKILL)
        until(lambda: pair.pids("valkey-server"))
        until(lambda: _answers(pair.valkey_url))
        assert store.get("kept") == b"yes"
        store.delete("kept")
    until(lambda: status_of(pair, "/healthz") == 200)


def _answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url) as store:
            return bool(store.ping())
    except redis.exceptions.ConnectionError:
        return False


# Stopped


def test_ctrl_c_stops_all_and_the_next_start_finds_all_again(tmp_path: Path) -> None:
    with own_database(ServedOptions()) as options:
        first = ServedRelay(tmp_path / "data", options)
        first.wait_until_ready()
        assert first.stop(signal.SIGINT) == 0
        assert first.close() == []
        second = ServedRelay(tmp_path / "data", options)
        second.wait_until_ready()
        assert status_of(second, "/v1/models", with_token(second)) == 200
        assert second.simulator_url == first.simulator_url
        assert second.close() == []
    assert "Admin:" not in second.output.text, "secrets are printed once"
    assert "Personal token:" not in second.output.text


def test_a_signal_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    relay = ServedRelay(tmp_path / "data", ServedOptions())
    relay.output.value_of("Admin", 60)
    assert relay.stop() == 0
    assert relay.close() == []


def test_killed_it_leaves_nothing_either_and_frees_its_folder(tmp_path: Path) -> None:
    with own_database(ServedOptions()) as options:
        killed = ServedRelay(tmp_path / "data", options)
        killed.wait_until_ready()
        killed.stop(signal.SIGKILL)
        assert killed.wait_until_gone(10) == []
        killed.close()
    os.close(lock(killed.data_dir))


# Not started


def up(data_dir: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--data-dir", str(data_dir), *arguments]
    return subprocess.run(command, env=os.environ | environment, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = up(tmp_path, PORT=str(port))
    assert ended.returncode == 1
    assert re.search(rf"Port {port} .*in use.*PORT={port + 1}", ended.stderr)
    assert not (tmp_path / "valkey").exists(), "nothing was started"


@pytest.mark.parametrize("name", ["RELAY_DEMO_PASSWORD", "RELAY_DEMO_TOKEN"])
def test_fixed_secrets_are_refused_outside_the_loopback(name: str, tmp_path: Path) -> None:
    ended = up(tmp_path, "--host", "0.0.0.0", "--port", "0", **{name: "rk-known"})
    assert ended.returncode == 1
    assert name in ended.stderr
    assert "loopback" in ended.stderr


def test_a_database_that_cannot_be_migrated_refuses_the_start(tmp_path: Path) -> None:
    (tmp_path / "broken.sqlite3").write_text("this is no database, and long enough to be looked at as one" * 20)
    ended = up(tmp_path, "--port", "0", DATABASE_URL=f"sqlite:///{tmp_path}/broken.sqlite3")
    assert ended.returncode == 1
    assert "The database cannot be brought up to date, so nothing was started" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_no_demo_leaves_the_database_empty(tmp_path: Path) -> None:
    with served_relay(tmp_path / "data", ServedOptions(server="uvicorn", arguments=("--no-demo",))) as relay:
        assert relay.pids("simulator") == []
        assert relay.shell("from accounts.models import User; print(User.objects.count())") == "0"
    assert "Admin:" not in relay.output.text
