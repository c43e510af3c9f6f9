"""Connection check and test call from the admin's synchronous views: run on the serving process's event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import async_to_sync

from relay_project.connections import CheckReport
from relay_project.snapshot import Caller
from relay_project.wiring import RelayProcess, get_relay


def check_provider_sync(slug: str, language: str) -> CheckReport:
    """For a synchronous admin action: runs on the serving process's loop."""
    return _on_loop(lambda relay: relay.connections.check(slug, language))


def test_call_sync(model_name: str, caller: Caller, language: str) -> CheckReport:
    return _on_loop(lambda relay: relay.connections.test_call(model_name, caller, language))


def _on_loop(work: Callable[[RelayProcess], Awaitable[CheckReport]]) -> CheckReport:
    async def run() -> CheckReport:
        return await work(get_relay())

    return async_to_sync(run)()
