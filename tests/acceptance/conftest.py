"""Fixtures that serve a real relay; see served.py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

import pytest

from tests.acceptance.served import ServedOptions, ServedRelay, served_relay


class Serve(Protocol):
    def __call__(
        self, server: str = ..., workers: int = ..., *arguments: str, **environment: str
    ) -> contextlib.AbstractContextManager[ServedRelay]: ...


@pytest.fixture(scope="session")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRelay]:
    """The shared relay: one daphne, default lanes, demo data. Tests leave its configuration as they found it."""
    with served_relay(tmp_path_factory.mktemp("relay") / "data", ServedOptions()) as running:
        yield running


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """Starts a relay of the test's own: `with serve("uvicorn", 2, "--no-demo", RELAY_DRAIN_LIMIT_S="1") as relay:`"""

    def start(
        server: str = "daphne", workers: int = 1, *arguments: str, **environment: str
    ) -> contextlib.AbstractContextManager[ServedRelay]:
        folder = tmp_path_factory.mktemp("relay") / "data"
        return served_relay(folder, ServedOptions(server, workers, arguments, environment))

    return start
