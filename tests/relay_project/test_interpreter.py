"""What the interpreter is told before it serves."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from relay_project.server.interpreter import tune_interpreter


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def test_what_was_imported_is_not_looked_through_again_and_the_loop_gets_the_interpreter_back_soon() -> None:
    tune_interpreter()
    assert gc.get_freeze_count() > 10_000
    assert gc.isenabled()
    assert gc.get_threshold()[0] >= 10_000
    assert sys.getswitchinterval() <= 0.001
