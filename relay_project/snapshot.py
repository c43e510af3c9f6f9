"""Configuration as the hot path reads it: frozen, in memory, no ORM.

`Configuration` is one version of everything an admin can edit. `load_configuration` reads it from the database in a
fixed number of queries; `ConfigurationKeeper` holds the current one and takes over a new version as soon as its number
in the database has moved (polled twice a second, and at once in the process that made the change).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import structlog
from django.db import Error as DatabaseError

from providers.contract import Credential
from relay_project.quota.states import OpenState
from scheduling.clock import Clock
from scheduling.core.spec import Class, SchedulerSpec

log = structlog.get_logger(__name__)

POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as far as the relay must know: from a personal token or a browser session."""

    user_id: int | None  # None: the relay itself (probes)
    token_id: int | None
    team_id: int | None
    flow: str  # unit of fairness: the user, or the team for a service token
    limits: tuple[str, ...]  # FlowSpec keys
    class_cap: Class = Class.INTERACTIVE
    scopes: frozenset[str] = frozenset()
    expires_wall_us: int | None = None
    is_staff: bool = False

    @property
    def owner(self) -> str:
        return "relay" if self.user_id is None else f"user:{self.user_id}"

    @property
    def is_authenticated(self) -> bool:
        """DRF asks this of `request.user`."""
        return True


@dataclass(frozen=True, slots=True)
class ModelEntry:
    key: str
    public_name: str
    provider: str
    upstream_name: str
    enabled: bool
    context_window: int | None
    max_output: int | None
    capabilities: frozenset[str]
    input_microusd_per_mtok: int | None
    output_microusd_per_mtok: int | None
    cached_input_microusd_per_mtok: int | None
    created_s: int
    split_advice: str  # "" | few_large | many_small
    advised_concurrency: int | None
    limit_group: str  # models that share the provider's limit name the same group


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    slug: str
    name: str
    dialect: str
    base_url: str
    enabled: bool
    credentials: Mapping[str, Credential]  # by id
    headers: Mapping[str, str]
    vendor: str
    quota_groups: Mapping[str, str]  # credential id → the account or project the provider counts
    account_wide: bool  # the vendor counts its windows per account, not per model
    silence_s: float | None  # an upstream that says nothing for so long is given up (the vendor preset's adapter cap)


@dataclass(frozen=True, slots=True)
class RoleEntry:
    name: str
    description: str
    strategy: str
    patience_s: float
    candidates: tuple[str, ...]  # model keys in order


@dataclass(frozen=True, slots=True)
class Configuration:
    version: int
    callers: Mapping[str, Caller] = field(repr=False)  # by sha256 of the personal token; revoked ones are absent
    providers: Mapping[str, ProviderEntry] = field(default_factory=dict)
    models: Mapping[str, ModelEntry] = field(default_factory=dict)  # by key
    models_by_name: Mapping[str, ModelEntry] = field(default_factory=dict)  # by public name
    roles: Mapping[str, RoleEntry] = field(default_factory=dict)
    scheduler: SchedulerSpec | None = None
    used_up: tuple[OpenState, ...] = ()

    @property
    def provider_names(self) -> Mapping[str, str]:
        return {slug: provider.name for slug, provider in self.providers.items()}

    @property
    def model_names(self) -> Mapping[str, str]:
        return {no_model_key(slug): "–" for slug in self.providers} | {
            key: model.public_name for key, model in self.models.items()
        }


def no_model_key(provider: str) -> str:
    """Where a provider without models is looked for in the scheduler: the line of its connection checks."""
    return f"{provider}/"


class ConfigurationKeeper:
    """Holds the current configuration of this process."""

    def __init__(
        self,
        clock: Clock,
        read_version: Callable[[], Awaitable[int]],
        load: Callable[[], Awaitable[Configuration]],
    ) -> None:
        self._clock = clock
        self._read_version = read_version
        self._load = load
        self._current: Configuration | None = None
        self._listeners: list[Callable[[Configuration], None]] = []
        self._polling: asyncio.Task[None] | None = None
        self._nudged = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def current(self) -> Configuration:
        if self._current is None:
            raise RuntimeError("the configuration is read at start, before the first request")
        return self._current

    def listen(self, listener: Callable[[Configuration], None]) -> None:
        """Call `listener` with every new configuration, the one in force included."""
        self._listeners.append(listener)
        if self._current is not None:
            listener(self._current)

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.refresh()
        self._polling = asyncio.create_task(self._poll(), name="configuration")

    async def close(self) -> None:
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)

    def nudge(self) -> None:
        """Look now rather than at the next poll. Callable from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._nudged.set)

    async def refresh(self) -> None:
        """Read everything again and tell the listeners."""
        self._current = await self._load()
        for listener in self._listeners:
            listener(self._current)

    async def _poll(self) -> None:
        while True:
            await self._pause()
            try:
                if await self._read_version() != self.current.version:
                    await self.refresh()
            except DatabaseError as error:
                # The relay goes on with what it knows: a database that is away is not a relay that is down.
                log.warning("configuration could not be read", error=type(error).__name__)

    async def _pause(self) -> None:
        timer = self._clock.call_at(self._clock.now_us() + round(POLL_S * 1e6), self._nudged.set)
        await self._nudged.wait()
        timer.cancel()
        self._nudged.clear()
