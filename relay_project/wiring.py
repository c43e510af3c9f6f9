"""Builds clock, coordinator, adapters and books once per process, and starts and stops them in order.

There is one `RelayProcess` per serving process, bound to its event loop. Everything else asks `get_relay()`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

from accounts.outbox.outbox import Outbox
from accounts.usage import write_rows
from providers.adapters.openai_chat.adapter import OpenAIChatAdapter
from providers.contract import Adapter
from providers.transport import Transport
from relay_project.configuration import configuration_changed, current_version
from relay_project.connections import Connections
from relay_project.learning.exchange import DatabaseRows as LearnedRows
from relay_project.learning.learning import Learning
from relay_project.loading import load_configuration
from relay_project.quota.asking import is_back
from relay_project.quota.probes import Probes
from relay_project.quota.rows import DatabaseRows, claim_probes
from relay_project.quota.states import OpenState, QuotaStates
from relay_project.relay import Parts, Relay
from relay_project.revocation import revoked_keys
from relay_project.snapshot import Configuration, ConfigurationKeeper
from relay_project.tasks import TaskOwner
from relay_project.waiting_log import WaitingLog
from scheduling.backends.memory import MemoryBackend
from scheduling.clock import Clock, SystemClock
from scheduling.coordinator import Coordinator

log = structlog.get_logger(__name__)

T = TypeVar("T")


def build_adapters(transport: Transport, clock: Clock) -> Mapping[str, Adapter]:
    """Dialect → adapter. The dialects a provider can be connected with today."""
    wall = partial(_wall, clock)
    return {adapter.dialect: adapter for adapter in (OpenAIChatAdapter(transport, wall),)}


def _wall(clock: Clock) -> datetime:
    return datetime.fromtimestamp(clock.wall_us() / 1e6, UTC)


class RelayProcess:
    """All that lives as long as the process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.tasks = TaskOwner(self.clock)
        self.coordinator = Coordinator(MemoryBackend(self.clock), self.clock)
        self.transport = Transport(self.clock)
        self.adapters = build_adapters(self.transport, self.clock)
        self.outbox = Outbox(settings.ENV.data_dir / "outbox", write_rows, self.clock.wall_us)
        self.keeper = ConfigurationKeeper(self.clock, _in_thread(current_version), _in_thread(load_configuration))
        self.quota = QuotaStates(self.coordinator, DatabaseRows(), self.tasks)
        self.learning = Learning(self.coordinator, LearnedRows(), self.tasks)
        self.parts = Parts(
            configuration=lambda: self.configuration,
            coordinator=self.coordinator,
            adapters=self.adapters,
            books=self.outbox,
            tasks=self.tasks,
            quota=self.quota,
            learning=self.learning,
        )
        self.use_case = Relay(self.parts)
        self.probes = Probes(sync_to_async(claim_probes, thread_sensitive=False), self._is_back, self._back, self.tasks)
        self.connections = Connections(self.parts, self.keeper.refresh)
        self.waiting_log = WaitingLog(self.coordinator, self.clock)
        self._configured: Configuration | None = None
        self.state = "starting"

    @property
    def configuration(self) -> Configuration:
        return self.keeper.current

    async def cancel_ticket(self, ticket_id: str) -> None:
        """An administrator takes a request out of the line (or stops it, if it has started meanwhile)."""
        await self.coordinator.cancel(ticket_id)

    async def start(self) -> None:
        self.keeper.listen(self._configure)
        configuration_changed.connect(self._look_now)
        await self.coordinator.start()
        self.waiting_log.start()
        await self.keeper.start()
        await self.outbox.start()
        await self.learning.start()
        self.probes.start()
        self.state = "ready"

    async def drain(self) -> None:
        """Going down: nothing new is let in, what is inside may end (the server waits for it)."""
        self.state = "draining"
        self.coordinator.drain()

    async def close(self) -> None:
        self.state = "stopped"
        configuration_changed.disconnect(self._look_now)
        self.probes.close()
        self.learning.close()
        self.waiting_log.close()
        await self.connections.close()
        await self.keeper.close()
        await self.coordinator.close()
        await self.tasks.close()
        await self.transport.close()
        await self.outbox.close()

    def _configure(self, configuration: Configuration) -> None:
        before, self._configured = self._configured, configuration
        if configuration.scheduler is not None:
            self.learning.take_over(configuration.scheduler)
        self.quota.follow(configuration.used_up)
        if revoked := revoked_keys(before, configuration):
            self.tasks.spawn(self._withdraw(revoked))

    async def _withdraw(self, keys: frozenset[str]) -> None:
        """Whoever may not be here any more: out of the line, and stopped where it runs."""
        for key in keys:
            await self.coordinator.withdraw(key)

    async def _is_back(self, state: OpenState) -> bool:
        return await is_back(self.use_case, self.configuration, state)

    def _back(self, state: OpenState) -> None:
        self.quota.clear(state.target, "a probe came through")

    def _look_now(self, **_: object) -> None:
        """A change made in this process acts at once, not at the next poll. Called in any thread."""
        self.keeper.nudge()


def _in_thread(read: Callable[[], T]) -> Callable[[], Awaitable[T]]:
    """A blocking database read, off the loop, leaving no connection open behind it."""

    def reading() -> T:
        close_old_connections()
        try:
            return read()
        finally:
            close_old_connections()

    return sync_to_async(reading, thread_sensitive=False)


_process: RelayProcess | None = None
_starting: asyncio.Lock | None = None


async def start_relay(process: RelayProcess | None = None) -> RelayProcess:
    """Start this process's relay, once. Tests pass one of their own."""
    global _process, _starting
    _starting = _starting or asyncio.Lock()
    async with _starting:
        if _process is None:
            fresh = process or RelayProcess()
            await fresh.start()
            _process = fresh
    return _process


async def stop_relay() -> None:
    global _process, _starting
    process, _process, _starting = _process, None, None
    if process is not None:
        await process.close()


def get_relay() -> RelayProcess:
    if _process is None:
        raise RuntimeError("the relay of this process has not been started (ASGI lifespan)")
    return _process


def relay_state() -> str:
    return "starting" if _process is None else _process.state
