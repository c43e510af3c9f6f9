"""Connection checks and test calls for the admin's synchronous views: on the serving process's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from asgiref.sync import async_to_sync

from relay_project.connection_report import CheckReport
from relay_project.connection_run import Run
from relay_project.connections import Connections
from relay_project.snapshot import Caller
from relay_project.wiring import get_relay

Reports = Mapping[str, CheckReport | None]


def check_several(slugs: Sequence[str], language: str, *, within_s: float) -> Reports:
    """Check providers side by side: slug → report; None = still under way after `within_s`, and going on."""
    return _run_all(lambda connections: {slug: connections.check(slug, language) for slug in slugs}, within_s)


def test_call_several(models: Mapping[str, str], caller: Caller, language: str, *, within_s: float) -> Reports:
    """A test call to one model of each provider. `models`: provider slug → public name of the model."""
    return _run_all(
        lambda connections: {slug: connections.test_call(name, caller, language) for slug, name in models.items()},
        within_s,
    )


def _run_all(start: Callable[[Connections], Mapping[str, Run]], within_s: float) -> Reports:
    async def run_all() -> Reports:
        runs = start(get_relay().connections)
        if runs:
            await asyncio.wait([run.task for run in runs.values()], timeout=within_s)
        return {slug: run.task.result() if run.task.done() else None for slug, run in runs.items()}

    return async_to_sync(run_all)()
