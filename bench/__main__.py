"""`python -m bench`: everything side by side in one interleaved run, as tables or JSON. Ends by itself, leaves nothing
behind: servers run on loopback ports of their own, in a folder that is removed at the end."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import structlog

from bench.figures import STREAM_COLUMNS, WHOLE_COLUMNS, Figures
from bench.plan import Extent, Load
from bench.processes import Bench, Cores, DidNotStart, pick_cores
from bench.rounds import RequestsFailed, measure_rounds, warm_up
from bench.scheduler import WAITING, store_costs_us, verb_costs_us
from bench.table import table
from bench.variants import start_variants
from relay_project.server.errors import ValkeyUnavailable

QUICK = Extent(rounds=1, seconds=0.5, within_s=60.0)
Report = dict[Load, dict[str, Figures]]
Costs = dict[str, float]  # what → µs


@dataclass(frozen=True, slots=True)
class Results:
    conditions: dict[str, Any]
    report: Report
    verbs: Costs  # of the scheduler in this process
    store: Costs  # of the scheduler on Valkey


def main() -> int:
    asked = _arguments().parse_args()
    extent = QUICK if asked.quick else Extent(asked.rounds, asked.seconds, asked.within)
    signal.signal(signal.SIGTERM, _end)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        results = _measure_all(extent)
    except (DidNotStart, RequestsFailed, ValkeyUnavailable) as failure:
        print(failure, file=sys.stderr)
        return 1
    print(_as_json(results) if asked.json else _as_text(results))
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="at most; figures are medians (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.8, help="of one measurement (default: %(default)s)")
    parser.add_argument("--within", type=float, default=130.0, help="seconds for all rounds (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round of half seconds: to see that it works")
    parser.add_argument("--json", action="store_true", help="microseconds and full digits, for programs")
    return parser


def _end(_number: int, _frame: object) -> NoReturn:
    """As an exception, so that every process is ended on the way out."""
    sys.exit(1)


def _measure_all(extent: Extent) -> Results:
    cores = pick_cores(sorted(os.sched_getaffinity(0)))
    rounds, report = _measure(cores, extent)
    print("measuring the scheduler alone", file=sys.stderr)
    return Results(_conditions(cores, rounds, extent.seconds), report, verb_costs_us(), store_costs_us())


def _measure(cores: Cores, extent: Extent) -> tuple[int, Report]:
    with tempfile.TemporaryDirectory(prefix="relay-bench-") as folder, ExitStack() as held:
        variants = []
        for variant in start_variants(Bench(Path(folder), held), cores):
            print(f"started: {variant.name}", file=sys.stderr)
            variants.append(variant)
        warm_up(variants, cores)
        print(f"measuring: up to {extent.rounds} rounds", file=sys.stderr)
        return measure_rounds(variants, cores, extent)


def _conditions(cores: Cores, rounds: int, seconds: float) -> dict[str, Any]:
    return {
        "rounds": rounds,
        "seconds": seconds,
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "server_core": cores.server,
        "callers_core": cores.callers,
    }


def _as_json(results: Results) -> str:
    loads = {load.name: variants for load, variants in results.report.items()}
    scheduler = {"memory_us": results.verbs, "valkey_us": results.store}
    return json.dumps({"conditions": results.conditions, "loads": loads, "scheduler": scheduler}, indent=2)


def _as_text(results: Results) -> str:
    conditions = results.conditions
    pinned = "nothing pinned (one CPU)"
    if conditions["server_core"] is not None:
        pinned = "server on core {server_core}, callers and upstream on core {callers_core}".format_map(conditions)
    blocks = [f"One worker each; {pinned}. Medians of {conditions['rounds']} rounds of {conditions['seconds']:g} s."]
    for load, variants in results.report.items():
        blocks.append(table(load.name, STREAM_COLUMNS if load.stream else WHOLE_COLUMNS, variants))
    blocks.append(f"Scheduler, {WAITING:,} waiting, median of a verb: {_in_words(results.verbs)}")
    blocks.append(f"Scheduler on Valkey, a place asked for and answered: {_in_words(results.store)}")
    return "\n\n".join(blocks)


def _in_words(costs: Costs) -> str:
    return ", ".join(f"{what} {us:,.0f} µs" for what, us in costs.items())


if __name__ == "__main__":
    sys.exit(main())
