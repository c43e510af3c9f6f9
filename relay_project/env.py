"""Settings from the environment, each checked at start with its name in the message.

Nothing is guessed: what has no safe value must be set. `manage.py up` makes and keeps the secrets of an embedded
installation (data folder, `secrets.env`), so a newcomer types nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")

BASE_DIR = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Env:
    data_dir: Path
    secret_key: str
    encryption_keys: tuple[str, ...]  # first encrypts, all decrypt
    database_url: str
    valkey_url: str  # "" = none: coordinator in this process, no broker
    allowed_hosts: tuple[str, ...]
    csrf_trusted_origins: tuple[str, ...]
    debug: bool
    port: int
    max_body_bytes: int
    max_held_bytes: int
    drain_limit_s: float  # how long running streams may go on when the relay stops
    time_zone: str
    usage_retention_days: int


def load_env() -> Env:
    env = environ.Env()
    data_dir = Path(env.str("RELAY_DATA_DIR", default=str(BASE_DIR / "var")))
    _read_embedded_secrets(data_dir)
    return Env(
        data_dir=data_dir,
        secret_key=_required(env, "SECRET_KEY", "a long random string"),
        encryption_keys=_encryption_keys(env),
        database_url=env.str("DATABASE_URL", default=f"sqlite:///{data_dir / 'relay.sqlite3'}"),
        valkey_url=env.str("VALKEY_URL", default=""),
        allowed_hosts=tuple(env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])),
        csrf_trusted_origins=tuple(env.list("CSRF_TRUSTED_ORIGINS", default=[])),
        debug=_typed(env, "DEBUG", env.bool, False),
        port=_typed(env, "PORT", env.int, 8000),
        max_body_bytes=_typed(env, "RELAY_MAX_BODY_BYTES", env.int, 20 * 1024 * 1024),
        max_held_bytes=_typed(env, "RELAY_MAX_HELD_BYTES", env.int, 256 * 1024 * 1024),
        drain_limit_s=_typed(env, "RELAY_DRAIN_LIMIT_S", env.float, 30.0),
        time_zone=env.str("TIME_ZONE", default="UTC"),
        usage_retention_days=_at_least_one(env, "RELAY_USAGE_RETENTION_DAYS", 400),
    )


def _read_embedded_secrets(data_dir: Path) -> None:
    """What `manage.py up` has made; the environment proper wins."""
    secrets = data_dir / "secrets.env"
    if secrets.is_file():
        environ.Env.read_env(secrets, overwrite=False)


def _required(env: environ.Env, name: str, what: str) -> str:
    value = str(env.str(name, default=""))
    if not value:
        raise ImproperlyConfigured(f"{name} is not set: {what}. `manage.py up` makes one for a local installation.")
    return value


def _encryption_keys(env: environ.Env) -> tuple[str, ...]:
    name = "RELAY_ENCRYPTION_KEYS"
    keys = tuple(key.strip() for key in _required(env, name, "Fernet keys, newest first, comma-separated").split(","))
    for key in keys:
        try:
            Fernet(key)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} holds a value that is no Fernet key (32 bytes, url-safe base64)."
            ) from error
    return keys


def _typed(env: environ.Env, name: str, read: Callable[..., T], default: T) -> T:
    try:
        return read(name, default=default)
    except (ValueError, environ.ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{name} has a value that cannot be read: {os.environ.get(name)!r}.") from error


def _at_least_one(env: environ.Env, name: str, default: int) -> int:
    value = _typed(env, name, env.int, default)
    if value < 1:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least 1, not {value}.")
    return value
