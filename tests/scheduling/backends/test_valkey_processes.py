"""Real processes on one store, by the machine's clock."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.scheduling.backends.stores import Store
from tests.scheduling.relays import S

LANES, PER_WINDOW, WINDOW_US = 5, 60, 2 * S

pytestmark = pytest.mark.served


@contextmanager
def process(store: Store, name: str, calls: int, hold_s: float) -> Iterator[subprocess.Popen[str]]:
    command = (sys.executable, "-m", "tests.scheduling.backends.one_process")
    arguments = (store.url, store.namespace, name, str(calls), str(hold_s))
    with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.kill()


def events_of(output: str) -> list[tuple[int, str, str]]:
    """(monotonic µs, what, ticket); the clock is the machine's, so they compare between processes."""
    words = [line.split() for line in output.splitlines() if line.split()[0] in ("start", "end", "lost", "refused")]
    return sorted((int(at_us), what, ticket) for what, at_us, ticket, *_ in words)


def peak_of(events: list[tuple[int, str, str]]) -> int:
    running = peak = 0
    for _, what, _ in events:
        running += {"start": 1, "end": -1}.get(what, 0)
        peak = max(peak, running)
    return peak


def test_lanes_and_pace_hold_across_processes(store: Store) -> None:
    with process(store, "a", 30, 0.25) as one, process(store, "b", 30, 0.25) as other:
        events = events_of(one.communicate(timeout=60)[0] + other.communicate(timeout=60)[0])
    starts = [at_us for at_us, what, _ in events if what == "start"]
    assert len(starts) == 60
    assert peak_of(events) == LANES
    spaced_us = WINDOW_US // PER_WINDOW
    close_ones = sum(1 for sooner, later in itertools.pairwise(starts) if later - sooner < spaced_us // 3)
    assert close_ones <= len(starts) // 10  # measured where they are told of it, which scatters
    assert starts[-1] - starts[0] >= (len(starts) - 1) * spaced_us - WINDOW_US // 20


@pytest.mark.slow
def test_a_killed_process_frees_its_places_within_15_s(store: Store) -> None:
    with process(store, "a", LANES, 60) as doomed:
        for _ in range(LANES):
            assert doomed.stdout is not None
            doomed.stdout.readline()
        with process(store, "b", 3, 0.1) as other:
            time.sleep(1)
            doomed.send_signal(signal.SIGKILL)
            began = time.monotonic()
            events = events_of(other.communicate(timeout=40)[0])
            assert time.monotonic() - began < 15
    assert [what for _, what, _ in events].count("end") == 3


@pytest.mark.slow
def test_a_stopped_process_that_goes_on_has_lost_its_leases_and_leaks_nothing(store: Store) -> None:
    with process(store, "a", LANES, 25) as stopped:
        for _ in range(LANES):
            assert stopped.stdout is not None
            stopped.stdout.readline()
        stopped.send_signal(signal.SIGSTOP)
        with process(store, "b", LANES, 12) as other:
            time.sleep(20)
            stopped.send_signal(signal.SIGCONT)
            later = events_of(other.communicate(timeout=60)[0])
        lost = events_of(stopped.communicate(timeout=60)[0])
    assert [what for _, what, _ in later].count("end") == LANES
    assert [what for _, what, _ in lost].count("lost") == LANES
    with process(store, "c", LANES, 0.1) as last:
        assert peak_of(events_of(last.communicate(timeout=30)[0])) >= 1
