"""The data folder of a local installation: its secrets, and that one relay only works in it."""

from __future__ import annotations

import argparse
import fcntl
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography.fernet import Fernet

from relay_project.server.errors import FolderTaken

SECRETS_FILE = "secrets.env"
LOCK_FILE = "up.lock"
MAKERS: dict[str, Callable[[], str]] = {
    "SECRET_KEY": lambda: secrets.token_urlsafe(50),
    "RELAY_ENCRYPTION_KEYS": lambda: Fernet.generate_key().decode(),
}


def prepare(argv: Sequence[str], base_dir: Path) -> None:
    """Before Django reads its settings: choose the data folder, make it and the secrets that are missing.

    `argv`: what follows `manage.py up`.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data-dir", default=os.environ.get("RELAY_DATA_DIR") or str(base_dir / "var"))
    data_dir = Path(parser.parse_known_args(argv)[0].data_dir).resolve()
    os.environ["RELAY_DATA_DIR"] = str(data_dir)
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    make_secrets(data_dir / SECRETS_FILE)


def make_secrets(path: Path) -> None:
    """Add what neither the environment nor the file has. Nothing is ever replaced: stored keys are sealed
    with it.
    """
    kept = path.read_text() if path.exists() else ""
    named = {line.partition("=")[0] for line in kept.splitlines()}
    missing = [name for name in MAKERS if name not in named and not os.environ.get(name)]
    if missing:
        added = "".join(f"{name}={MAKERS[name]()}\n" for name in missing)
        _write_privately(path, kept + added)


def _write_privately(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def lock(data_dir: Path) -> int:
    """A descriptor that holds the folder. Children keep a copy, so the folder is free when the last one has
    gone.

    Raises `FolderTaken`.
    """
    descriptor = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise FolderTaken(data_dir) from error
    return descriptor
