"""One picture of the queue per process, at most four a second, whoever asks and however many watch.

`current()` serves polls, `watch()` serves sockets. The coordinator's news only mark the picture as old; the
next one is made when the spacing allows, so a burst of starts costs four pictures a second and no more. The
common part of a picture is serialised once and shared by all; a viewer's rows are serialised once per viewer.

Everything here runs on the process's one event loop. No await between reading and writing, so it is atomic.
Bound: a watcher learns of a change after at most `SPACING_US`, of a changed configuration after at most
`BEAT_US`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from relay_project.api.queue_rendering import Names, Viewer, render_common, render_rows
from relay_project.wiring import RelayProcess, get_relay
from scheduling.clock import SECOND_US, Clock, Timer
from scheduling.core.snapshot import QueueSnapshot

SPACING_US = SECOND_US // 4
BEAT_US = SECOND_US
REFRESH_US = 5 * SECOND_US  # windows empty by time alone, which is no news of the coordinator's


class TokenHolder(Protocol):
    """What a personal token stands for."""

    @property
    def owner(self) -> str: ...

    @property
    def is_staff(self) -> bool: ...

    @property
    def scopes(self) -> frozenset[str]: ...

    @property
    def expires_wall_us(self) -> int | None: ...


class WatchedConfiguration(Names, Protocol):
    """One version of the configuration: immutable, a new object after every change."""

    @property
    def callers(self) -> Mapping[str, TokenHolder]: ...  # by sha256 of the token; revoked ones are absent


class WatchedCoordinator(Protocol):
    def snapshot(self) -> QueueSnapshot: ...

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` on the loop after every change; returns the way to stop it."""


class WatchedRelay(Protocol):
    """As much of the running process as the queue's edges need."""

    @property
    def clock(self) -> Clock: ...

    @property
    def coordinator(self) -> WatchedCoordinator: ...

    @property
    def configuration(self) -> WatchedConfiguration: ...


class Picture:
    """A snapshot with its serialised parts."""

    def __init__(self, snapshot: QueueSnapshot, names: Names) -> None:
        self.snapshot = snapshot
        self.common = render_common(snapshot, names)
        self._common_json = _members({"type": "queue"} | self.common)
        self._rows_json: dict[Viewer, str] = {}

    def as_dict(self, viewer: Viewer) -> dict[str, Any]:
        return self.common | render_rows(self.snapshot, viewer)

    def frame(self, viewer: Viewer, *, confirm: bool = False) -> str:
        """The WebSocket frame for one viewer."""
        if viewer not in self._rows_json:
            self._rows_json[viewer] = _members(render_rows(self.snapshot, viewer))
        confirm_json = ',"confirm":true' if confirm else ""
        return f"{{{self._common_json},{self._rows_json[viewer]}{confirm_json}}}"


Watcher = Callable[[Picture], None]


class QueueFeed:
    def __init__(self, relay: WatchedRelay, clock: Clock) -> None:
        self._relay = relay
        self._clock = clock
        self._picture: Picture | None = None
        self._made_us = 0
        self._is_old = False
        self._made_with: WatchedConfiguration | None = None
        self._watchers: set[Watcher] = set()
        self._due: Timer | None = None
        self._beat: Timer | None = None
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def configuration(self) -> WatchedConfiguration:
        return self._relay.configuration

    def wall_us(self) -> int:
        return self._clock.wall_us()

    def current(self) -> Picture:
        """A picture no older than the spacing."""
        if self._picture is None or self._age_us() >= SPACING_US:
            return self._make()
        return self._picture

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Offer the current picture now and every newer one, until the returned function is called."""
        if self._unsubscribe is None:
            self._unsubscribe = self._relay.coordinator.subscribe(self._news)
            self._arm_beat()
        watcher(self.current())
        self._watchers.add(watcher)
        return lambda: self._leave(watcher)

    def _leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        if self._watchers or self._unsubscribe is None:
            return
        self._unsubscribe()
        self._unsubscribe = None
        for timer in (self._due, self._beat):
            if timer is not None:
                timer.cancel()
        self._due = self._beat = None

    def _news(self) -> None:
        self._is_old = True
        if self._due is None:
            self._due = self._clock.call_at(self._made_us + SPACING_US, self._on_due)

    def _on_due(self) -> None:
        self._due = None
        if not self._is_old:  # a poll has made a picture meanwhile, and the watchers have it
            return
        if self._age_us() < SPACING_US:  # ... and there were news after it; or the timer is early by its resolution
            self._news()
            return
        self._make()

    def _make(self) -> Picture:
        self._is_old = False
        self._made_us = self._clock.now_us()
        self._made_with = self._relay.configuration
        self._picture = picture = Picture(self._relay.coordinator.snapshot(), self._made_with)
        for watcher in tuple(self._watchers):
            watcher(picture)
        return picture

    def _age_us(self) -> int:
        return self._clock.now_us() - self._made_us

    def _arm_beat(self) -> None:
        self._beat = self._clock.call_at(self._clock.now_us() + BEAT_US, self._on_beat)

    def _on_beat(self) -> None:
        # Armed again first: a snapshot that fails now must not end the feed.
        self._arm_beat()
        if self._age_us() >= REFRESH_US or self._made_with is not self._relay.configuration:
            self._news()


def _members(value: dict[str, Any]) -> str:
    """A JSON object's members without its braces."""
    return msgspec.json.encode(value).decode()[1:-1]


@lru_cache(maxsize=1)
def feed_of(relay: RelayProcess) -> QueueFeed:
    """The feed of this process: there is one relay in it, so there is one feed."""
    return QueueFeed(relay, relay.clock)


def process_feed() -> QueueFeed:
    return feed_of(get_relay())
