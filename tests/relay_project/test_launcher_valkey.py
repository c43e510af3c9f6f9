"""The embedded Valkey: a real one, on a real socket."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

import pytest
import redis

from relay_project.server.store_url import LONGEST_SOCKET_PATH, broker_url, client_url
from relay_project.server.valkey import ValkeyUnavailable, prepare_valkey, running_valkey

pytestmark = pytest.mark.served


def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url)


def test_it_keeps_what_was_written_over_a_restart(tmp_path: Path) -> None:
    with running_valkey(tmp_path / "valkey") as url, client(url) as store:
        store.set("lane", "3")
    with running_valkey(tmp_path / "valkey") as url, client(url) as store:
        assert store.get("lane") == b"3"


def test_it_logs_every_write_and_never_evicts(tmp_path: Path) -> None:
    with running_valkey(tmp_path / "valkey") as url, client(url) as store:
        settings = store.config_get("append*", "maxmemory-policy", "port")
    assert settings["appendonly"] == "yes"
    assert settings["appendfsync"] == "everysec"
    assert settings["maxmemory-policy"] == "noeviction"
    assert settings["port"] == "0"


def test_a_folder_whose_socket_path_is_too_long_gets_a_short_one(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60) / "valkey"
    with running_valkey(deep) as url, client(url) as store:
        short = Path(url.removeprefix("unix://"))
        assert len(os.fsencode(short)) <= LONGEST_SOCKET_PATH
        assert store.ping()
    assert not short.parent.exists()


def test_a_socket_file_left_by_a_dead_one_does_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "valkey"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "valkey.sock"))
    with running_valkey(folder) as url, client(url) as store:
        assert store.ping()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to drop")
def test_started_by_root_it_runs_as_nobody_even_below_a_closed_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with running_valkey(home / "valkey") as url, client(url) as store:
        process_id = store.info("server")["process_id"]
        owner = Path(f"/proc/{process_id}").stat().st_uid
    assert pwd.getpwuid(owner).pw_name == "nobody"


def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "valkey"
    (folder / "appendonlydir").mkdir(parents=True)
    (folder / "appendonlydir" / "appendonly.aof.manifest").write_text("no manifest\n")
    with pytest.raises(ValkeyUnavailable, match=r"exit code 1: .*(manifest|AOF)"), running_valkey(folder):
        pass


def test_without_the_wheel_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValkeyUnavailable, match="VALKEY_URL"):
        prepare_valkey(tmp_path / "valkey")


@pytest.mark.parametrize(
    ("url", "for_clients", "for_celery"),
    [
        ("unix:///data/valkey.sock", "unix:///data/valkey.sock", "redis+socket:///data/valkey.sock"),
        ("redis://:secret@store:6379/2", "redis://:secret@store:6379/2", "redis://:secret@store:6379/2"),
        ("valkey://store:6379", "redis://store:6379", "redis://store:6379"),
        ("valkeys://store:6379", "rediss://store:6379", "rediss://store:6379"),
        ("", "", "memory://"),
    ],
)
def test_one_url_in_the_form_of_each_client(url: str, for_clients: str, for_celery: str) -> None:
    assert client_url(url) == for_clients
    assert broker_url(url) == for_celery
