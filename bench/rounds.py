"""The interleaved run: in every round each variant meets each load, one after the other, so that all of them share the
machine's better and worse moments."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec

from bench.figures import Figures, Round, summarise
from bench.plan import LOADS, Errand, Extent, Heard, Load, Measured
from bench.processes import Cores, Variant, cpu_us, pin

WARM_UP_S = 0.5
SETTLE_S = 0.3  # the relay's usage rows follow within a quarter of a second: their CPU time counts
LOAD_TOOL_LIMIT_S = 60.0


class RequestsFailed(Exception):
    """Figures of a variant that refuses are worth nothing."""


def warm_up(variants: Sequence[Variant], cores: Cores) -> None:
    """Connections are made, caches filled; and it shows that each variant answers."""
    for variant in variants:
        for load in (LOADS[-1], LOADS[2]):
            _send_if_it_answers(variant, load, WARM_UP_S, cores)


def measure_rounds(
    variants: Sequence[Variant], cores: Cores, extent: Extent
) -> tuple[int, dict[Load, dict[str, Figures]]]:
    """How many rounds there were; load → variant → figures. A peer that has failed under a load is missing there.

    A round that would not end in time is not begun: slow peers take long to answer what they took.
    """
    measured: dict[Load, list[Round]] = {load: [] for load in LOADS}
    began = time.monotonic()
    number = 0
    while number < extent.rounds and (time.monotonic() - began) * (number + 1) <= extent.within_s * max(number, 1):
        for load in LOADS:
            measured[load].append(dict(_measure(variants, load, extent.seconds, cores)))
        number += 1
    return number, {load: summarise(rows, stream=load.stream) for load, rows in measured.items()}


def _measure(variants: Sequence[Variant], load: Load, seconds: float, cores: Cores) -> Iterator[tuple[str, Measured]]:
    for variant in variants:
        before = None if variant.pid is None else cpu_us(variant.pid)
        heard = _send_if_it_answers(variant, load, seconds, cores)
        time.sleep(SETTLE_S)
        spent = None if variant.pid is None or before is None else cpu_us(variant.pid) - before
        if heard is not None:
            yield variant.name, Measured(heard, spent)


def _send_if_it_answers(variant: Variant, load: Load, seconds: float, cores: Cores) -> Heard | None:
    """None if a peer failed. Raises `RequestsFailed` for our own."""
    try:
        return _send(variant, load, seconds, cores)
    except RequestsFailed as failure:
        if not variant.is_peer:
            raise
        print(f"left out: {failure}", file=sys.stderr)
        return None


def _send(variant: Variant, load: Load, seconds: float, cores: Cores) -> Heard:
    """Raises `RequestsFailed`."""
    errand = msgspec.json.encode(Errand(variant.entrance, load, seconds)).decode()
    command = [sys.executable, "-m", "bench.load", errand]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tool:
        try:
            pin(tool.pid, cores.callers)
            told, _ = tool.communicate(timeout=seconds + LOAD_TOOL_LIMIT_S)
        except BaseException:
            tool.kill()
            raise
    if tool.returncode:
        raise RequestsFailed(f"{variant.name}, {load.name}: the load tool failed")
    heard = msgspec.json.decode(told, type=Heard)
    if heard.failed or not heard.answers:
        raise RequestsFailed(f"{variant.name}, {load.name}: {heard.failed} requests failed; the first: {heard.failure}")
    return heard
