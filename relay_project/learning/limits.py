"""The findings in force in this process, and the configuration they make of the admin's.

Whoever finds something puts it here; what lowers a limit acts at once, what raises it within a quarter of a second (an
adaptive rate climbs at every start, and a configuration costs a look at every lane). The version handed to the backend
is the configuration's plus the number of changes to the findings, which all processes share (`exchange.py`): it grows
with every change of either, and is the same wherever the same is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import structlog

from scheduling.clock import Clock
from scheduling.core.learned import Finding, LimitKey, Source, with_findings
from scheduling.core.snapshot import QueueSnapshot
from scheduling.core.spec import ModelSpec, SchedulerSpec
from scheduling.timers import Alarm

log = structlog.get_logger(__name__)

RAISES_WITHIN_US: Final = 250_000
REPEATS_PER_LIFE: Final = 6
"""A figure that is heard again and again is written down anew so often in its lifetime, lest others forget it."""


class Gate(Protocol):
    """What the coordinator offers."""

    def configure(self, spec: SchedulerSpec) -> None: ...

    def snapshot(self) -> QueueSnapshot: ...


class Limits:
    def __init__(self, gate: Gate, clock: Clock) -> None:
        self._gate = gate
        self._clock = clock
        self._base: SchedulerSpec | None = None
        self._findings: dict[LimitKey, Finding] = {}
        self._unwritten: dict[LimitKey, Finding | None] = {}
        self._written_us: dict[LimitKey, int] = {}
        self._soon = Alarm(clock, self._apply)
        self._adopted: list[Callable[[LimitKey, Finding], None]] = []
        self.revision = 0

    @property
    def findings(self) -> Mapping[LimitKey, Finding]:
        return self._findings

    def take_over(self, base: SchedulerSpec) -> None:
        """The admin's configuration has changed."""
        self._base = base
        gone = [key for key in self._findings if key.provider not in base.providers]
        for key in gone:
            del self._findings[key]
        self._apply()

    def configured(self, provider: str, model: str) -> ModelSpec | None:
        """The model as the admin configured it."""
        spec = None if self._base is None else self._base.providers.get(provider)
        return None if spec is None else spec.models.get(model)

    def put(self, key: LimitKey, finding: Finding | None) -> None:
        """What is known of a limit from now on; None = nothing, the configured one holds."""
        known = self._findings.get(key)
        if finding is None:
            if self._findings.pop(key, None) is None:
                return
        else:
            self._findings[key] = finding
        if _figure(known) != _figure(finding):
            self._changed(key, known, finding)
        elif finding is not None and self._is_due_again(key, finding):
            self._unwritten[key] = finding

    def give_way(self, provider: str) -> bool:
        """A request is too large for what others leave of a limit: a guess must not refuse it for good. True = there
        was such a guess about this provider, and it is dropped."""
        foreign = [key for key in self._findings if key.source is Source.FOREIGN and key.provider == provider]
        for key in foreign:
            self.put(key, None)
        if foreign:
            self._apply()
        return bool(foreign)

    def forget_old(self) -> None:
        """Whatever has not been heard again in time."""
        now_us = self._clock.wall_us()
        for key in [key for key, finding in self._findings.items() if finding.is_over(now_us)]:
            log.info("a learned limit is forgotten", provider=key.provider, group=key.group, measure=key.measure)
            self.put(key, None)

    def unwritten(self) -> dict[LimitKey, Finding | None]:
        """What other processes have not been told, taken away."""
        taken, self._unwritten = self._unwritten, {}
        for key, finding in taken.items():
            self._written_us[key] = 0 if finding is None else finding.heard_us
        return taken

    def on_adopted(self, callback: Callable[[LimitKey, Finding], None]) -> None:
        self._adopted.append(callback)

    def adopt(self, shared: Mapping[LimitKey, Finding], revision: int) -> None:
        """What all processes know, as of `revision`. What was found here since, and not yet told, stays."""
        before = {key: _figure(finding) for key, finding in self._findings.items()}
        for key in [key for key in self._findings if key not in shared and key not in self._unwritten]:
            del self._findings[key]
        for key, finding in shared.items():
            known = self._findings.get(key)
            if key not in self._unwritten and (known is None or known.heard_us < finding.heard_us):
                self._findings[key] = finding
                for callback in self._adopted:
                    callback(key, finding)
        changed = before != {key: _figure(finding) for key, finding in self._findings.items()}
        self.revision = max(self.revision, revision)
        if changed:
            self._apply()

    def close(self) -> None:
        self._soon.set(None)

    def _changed(self, key: LimitKey, known: Finding | None, finding: Finding | None) -> None:
        self._unwritten[key] = finding
        self.revision += 1
        if key.source is Source.TOLD:
            _tell(key, finding)
        if _lowers(key, known, finding):
            self._apply()
        elif not self._soon.is_set:
            self._soon.set(self._clock.now_us() + RAISES_WITHIN_US)

    def _is_due_again(self, key: LimitKey, finding: Finding) -> bool:
        lifetime_us = finding.until_us - finding.heard_us
        return finding.heard_us - self._written_us.get(key, 0) >= lifetime_us // REPEATS_PER_LIFE

    def _apply(self) -> None:
        self._soon.set(None)
        if self._base is not None:
            version = self._base.version + self.revision
            self._gate.configure(with_findings(self._base, self._findings, version))


def _figure(finding: Finding | None) -> int | None:
    return None if finding is None else finding.figure


def _lowers(key: LimitKey, known: Finding | None, finding: Finding | None) -> bool:
    if finding is None:
        return False
    if known is None:
        return True
    return finding.figure > known.figure if key.source is Source.FOREIGN else finding.figure < known.figure


def _tell(key: LimitKey, finding: Finding | None) -> None:
    of = {"provider": key.provider, "group": key.group, "measure": key.measure}
    if finding is None:
        log.info("the provider's limit is back at the configured one", **of)
    else:
        log.warning("the provider's limit is lower", limit=finding.figure, configured=finding.configured, **of)
