"""Holds what providers say of their limits against what is configured, and against what we have sent.

On the hot path at most once a second per model and account, and the picture of our own use (it costs a look at all
lines) at most every two seconds for all of them. Use by others counts when it was seen twice in a row: a single
look may fall between the provider's counting and ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from providers.contract import Refusal
from relay_project.learning.limits import Gate, Limits
from relay_project.learning.readings import Heard, of_headers, of_refusal
from relay_project.quota.consequences import hangs_on
from relay_project.quota.states import Place
from scheduling.clock import Clock
from scheduling.core.learned import (
    AT_ONCE,
    Finding,
    LimitKey,
    Source,
    foreign_use,
    hear,
    length_of,
    until_of_foreign,
)
from scheduling.core.snapshot import WindowView
from scheduling.core.spec import LaneRules, Scope, WindowKind, WindowSpec

LISTENS_EVERY_US: Final = 1_000_000
LOOKS_EVERY_US: Final = 2_000_000
_GUARD_AT_MOST_S: Final = 1.0
"""A window's view has the guard added to its length."""


class Hearing:
    def __init__(self, limits: Limits, gate: Gate, clock: Clock) -> None:
        self._limits = limits
        self._gate = gate
        self._clock = clock
        self._listened_us: dict[tuple[str, str], int] = {}  # model, account
        self._looked_us = -LOOKS_EVERY_US
        self._seen: dict[LimitKey, int] = {}  # foreign use at the last look

    def answered(self, place: Place, vendor: str, headers: Mapping[str, str]) -> None:
        """An answer has begun."""
        now_us = self._clock.now_us()
        pair = (place.model, place.quota_group)
        if now_us - self._listened_us.get(pair, -LISTENS_EVERY_US) < LISTENS_EVERY_US:
            return
        self._listened_us[pair] = now_us
        heard = of_headers(headers, vendor, self._wall())
        self._take(place, heard)
        self._look_at_use(place, heard)

    def refused(self, place: Place, vendor: str, refusal: Refusal) -> None:
        group = place.limit_group if hangs_on(refusal, account_wide=place.account_wide) is Scope.MODEL else ""
        for heard in of_refusal(refusal, vendor, self._wall()):
            if heard.measure == AT_ONCE:
                self._take_at_once(place, group, heard)
            else:
                self._take(place, [heard])

    def _take(self, place: Place, told: list[Heard]) -> None:
        for heard in told:
            for window, limit in _same_limit(heard, self._rules(place)):
                self._put(_key(place, window, Source.TOLD), limit, window.limit, heard.evidence)

    def _take_at_once(self, place: Place, group: str, heard: Heard) -> None:
        rules = self._rules(place)
        if rules is not None:
            configured = (rules.lanes_per_model or rules.lanes) if group else rules.lanes
            key = LimitKey(place.provider, Source.TOLD, group=group, account=place.quota_group)
            self._put(key, heard.limit, configured, heard.evidence)

    def _put(self, key: LimitKey, limit: int, configured: int, evidence: str) -> None:
        known = self._limits.findings.get(key)
        self._limits.put(key, hear(known, limit, configured, self._clock.wall_us(), evidence))

    def _look_at_use(self, place: Place, told: list[Heard]) -> None:
        now_us = self._clock.now_us()
        with_remaining = [heard for heard in told if heard.remaining is not None]
        if not with_remaining or now_us - self._looked_us < LOOKS_EVERY_US:
            return
        self._looked_us = now_us
        views = self._views(place)
        for heard in with_remaining:
            for window, limit in _same_limit(heard, self._rules(place)):
                ours = _used(views, window)
                if ours is not None and limit == heard.limit:
                    self._found_use(_key(place, window, Source.FOREIGN), heard, ours)

    def _found_use(self, key: LimitKey, heard: Heard, ours: int) -> None:
        use = foreign_use(heard.limit, heard.remaining or 0, ours)
        twice = min(use, self._seen.get(key, 0))
        self._seen[key] = use
        if not twice:
            self._limits.put(key, None)
            return
        wall_us = self._clock.wall_us()
        known = self._limits.findings.get(key)
        since_us = wall_us if known is None else known.since_us
        until_us = until_of_foreign(key.window_us, wall_us)
        self._limits.put(key, Finding(twice, heard.limit, since_us, wall_us, until_us, heard.evidence))

    def _views(self, place: Place) -> tuple[WindowView, ...]:
        providers = (one for one in self._gate.snapshot().providers if one.key == place.provider)
        models = (model for provider in providers for model in provider.models)
        return next((model.windows for model in models if model.key == place.model), ())

    def _rules(self, place: Place) -> LaneRules | None:
        spec = self._limits.configured(place.provider, place.model)
        return None if spec is None else spec.rules

    def _wall(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_us() / 1e6, UTC)


def _same_limit(heard: Heard, rules: LaneRules | None) -> Iterator[tuple[WindowSpec, int]]:
    """The configured windows that this word is about, each with the limit told for it."""
    for window in () if rules is None else rules.windows:
        if window.measure != heard.measure:
            continue
        length_us = length_of(window)
        if length_us == heard.window_us:
            yield window, heard.limit
        elif heard.per_slice and heard.window_us < length_us and window.kind is not WindowKind.CALENDAR:
            yield window, heard.limit * length_us // heard.window_us


def _key(place: Place, window: WindowSpec, source: Source) -> LimitKey:
    group = place.limit_group if window.scope is Scope.MODEL else ""
    return LimitKey(place.provider, source, window.measure.value, length_of(window), group, place.quota_group)


def _used(views: tuple[WindowView, ...], window: WindowSpec) -> int | None:
    """What we have charged on it; None where that cannot be told (several accounts have a window each)."""
    length_s = length_of(window) / 1e6
    same = [
        view
        for view in views
        if (view.measure, view.scope) == (window.measure.value, window.scope.value)
        and 0 <= view.window_s - length_s <= _GUARD_AT_MOST_S
    ]
    return same[0].used if len(same) == 1 else None
