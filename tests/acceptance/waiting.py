"""Waiting for what must come true soon, in tests with real processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(is_so: Callable[[], T], within_s: float, what: str, every_s: float = 0.02) -> T:
    """Ask until the answer is true and return it; fails after `within_s`, naming `what` and the last answer."""
    end = time.monotonic() + within_s
    while not (answer := is_so()):
        assert time.monotonic() < end, f"no {what} within {within_s} s; last: {answer!r}"
        time.sleep(every_s)
    return answer


def wait_until_quiet(read: Callable[[], T], quiet_s: float = 0.6, within_s: float = 10) -> T:
    """Read until the answer has not changed for `quiet_s` and return it; for books that are written in rounds."""
    end, last = time.monotonic() + within_s, read()
    since = time.monotonic()
    while time.monotonic() - since < quiet_s:
        assert time.monotonic() < end, f"still changing after {within_s} s: {last!r}"
        time.sleep(0.05)
        if (now := read()) != last:
            last, since = now, time.monotonic()
    return last
