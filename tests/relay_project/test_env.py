"""Settings from the environment, and the secrets that `manage.py up` makes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from relay_project.env import load_env
from relay_project.server.errors import FolderTaken
from relay_project.server.installation import SECRETS_FILE, lock, make_secrets, prepare

SECRET_NAMES = ("SECRET_KEY", "RELAY_ENCRYPTION_KEYS")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELAY_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    return tmp_path


@pytest.fixture
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRET_NAMES:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_missing_secret_is_named_with_the_way_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name)
    with pytest.raises(ImproperlyConfigured, match=rf"{name} is not set.*manage\.py up"):
        load_env()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "eighty"),
        ("RELAY_MAX_BODY_BYTES", "20MB"),
        ("RELAY_DRAIN_LIMIT_S", "soon"),
        ("RELAY_ENCRYPTION_KEYS", "not-a-key"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=name):
        load_env()


def test_several_encryption_keys_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    newer, older = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    monkeypatch.setenv("RELAY_ENCRYPTION_KEYS", f"{newer}, {older}")
    assert load_env().encryption_keys == (newer, older)


def test_by_default_the_database_lies_in_the_data_folder(folder: Path) -> None:
    assert load_env().database_url == f"sqlite:///{folder}/relay.sqlite3"


@pytest.mark.usefixtures("no_secrets")
def test_secrets_that_up_has_made_are_read_back(folder: Path) -> None:
    make_secrets(folder / SECRETS_FILE)
    env = load_env()
    assert len(env.secret_key) >= 50
    assert len(env.encryption_keys) == 1


def test_the_environment_wins_over_the_file(folder: Path) -> None:
    (folder / SECRETS_FILE).write_text("SECRET_KEY=from-the-file\n")
    assert load_env().secret_key == os.environ["SECRET_KEY"]


@pytest.mark.usefixtures("no_secrets")
def test_the_secrets_file_is_for_its_owner_only(folder: Path) -> None:
    make_secrets(folder / SECRETS_FILE)
    assert stat.S_IMODE((folder / SECRETS_FILE).stat().st_mode) == 0o600


@pytest.mark.usefixtures("no_secrets")
def test_secrets_are_made_once_and_never_replaced(folder: Path) -> None:
    path = folder / SECRETS_FILE
    path.write_text("SECRET_KEY=kept\n")
    make_secrets(path)
    first = path.read_text()
    make_secrets(path)
    assert first.startswith("SECRET_KEY=kept\nRELAY_ENCRYPTION_KEYS=")
    assert path.read_text() == first


def test_no_file_is_made_where_the_environment_has_all(folder: Path) -> None:
    make_secrets(folder / SECRETS_FILE)
    assert not (folder / SECRETS_FILE).exists()


@pytest.mark.usefixtures("no_secrets")
@pytest.mark.parametrize("spelling", [["--data-dir", "{}"], ["--workers", "2", "--data-dir={}"]])
def test_the_data_folder_is_chosen_before_django_reads_its_settings(folder: Path, spelling: list[str]) -> None:
    chosen = folder / "elsewhere"
    prepare([part.format(chosen) for part in spelling], base_dir=folder)
    assert os.environ["RELAY_DATA_DIR"] == str(chosen)
    assert (chosen / SECRETS_FILE).exists()
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o700


def test_a_data_folder_has_room_for_one_relay(folder: Path) -> None:
    held = lock(folder)
    with pytest.raises(FolderTaken, match="--data-dir"):
        lock(folder)
    os.close(held)
    os.close(lock(folder))
