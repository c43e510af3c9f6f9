"""What an account turned out to allow, where that is less than what is configured.

Three sources, one form. *Told*: the provider states a limit of the account's own, in a header or a refusal; the lower
one rules, a later word moves it up again, and without any word it is forgotten after an hour. *Foreign*: the provider
has counted more than we sent, so somebody else uses the same account; what they used is missing to us until the window
has passed. *Adaptive*: the start rate that the provider takes without refusing (`adaptive.py`).

A finding never widens what is configured, and nothing is added where nothing is configured: an admin who sets no window
wants none. Foreign use takes half of a limit at most, because it is an estimate from two clocks.

Pure: findings + specs → specs. Whoever applies them says when.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from scheduling.core.adaptive import WINDOW_S, with_rate
from scheduling.core.moment import MINUTE_US, SECOND_US, ceil_div
from scheduling.core.spec import (
    CredentialSpec,
    LaneRules,
    ModelSpec,
    ProviderSpec,
    SchedulerSpec,
    Scope,
    WindowKind,
    WindowSpec,
)

FORGOTTEN_AFTER_US: Final = 60 * MINUTE_US
AT_ONCE: Final = "at_once"
"""The measure of a limit on calls running at once."""
STEPS: Final = 20
"""Foreign use counts in steps of one twentieth of the limit; less than one is how far two clocks may disagree."""
_DAY_US: Final = 24 * 60 * MINUTE_US
_PERIODS_US: Final = {"day": _DAY_US, "week": 7 * _DAY_US, "month": 30 * _DAY_US}


class Source(enum.StrEnum):
    TOLD = "told"
    FOREIGN = "foreign"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class LimitKey:
    """Which limit of which account."""

    provider: str  # slug
    source: Source
    measure: str = AT_ONCE  # a `Measure`, or AT_ONCE
    window_us: int = 0  # 0: at once
    group: str = ""  # limit group of the models it counts; "" = all of the account
    account: str = ""  # quota group of the key it was told with


@dataclass(frozen=True, slots=True)
class Finding:
    """`figure`: told, the limit; foreign, what others have used; adaptive, starts in `adaptive.WINDOW_S` seconds."""

    figure: int
    configured: int
    since_us: int  # epoch, as all moments here: findings are shared between processes
    heard_us: int
    until_us: int
    evidence: str = ""

    def is_over(self, wall_us: int) -> bool:
        return wall_us >= self.until_us


def hear(known: Finding | None, limit: int, configured: int, wall_us: int, evidence: str = "") -> Finding | None:
    """What is known of a told limit after one more word about it. None = nothing: the configured one is right."""
    if limit >= configured:
        return None
    same = known is not None and known.figure == limit
    since_us = known.since_us if known is not None and same else wall_us
    return Finding(max(1, limit), configured, since_us, wall_us, wall_us + FORGOTTEN_AFTER_US, evidence)


def foreign_use(limit: int, remaining: int, ours: int) -> int:
    """What others have used of a window: what the provider has counted beyond our own charges, in whole steps."""
    step = max(1, limit // STEPS)
    return max(0, limit - remaining - ours) // step * step


def length_of(window: WindowSpec) -> int:
    """Its length in µs, of a calendar's period the nominal one."""
    return _PERIODS_US.get(window.period, 0) if window.kind is WindowKind.CALENDAR else window.window_us


def with_findings(spec: SchedulerSpec, findings: Mapping[LimitKey, Finding], version: int) -> SchedulerSpec:
    """The configuration as it is to be in force, under a version of its own."""
    of_provider: dict[str, dict[LimitKey, Finding]] = {}
    for key, finding in findings.items():
        of_provider.setdefault(key.provider, {})[key] = finding
    providers = {
        slug: _provider(provider, of_provider[slug]) if slug in of_provider else provider
        for slug, provider in spec.providers.items()
    }
    return replace(spec, version=version, providers=providers)


def with_model_findings(model: ModelSpec, findings: Mapping[LimitKey, Finding]) -> ModelSpec:
    """One model's rules as they are in force."""
    rules = model.rules
    windows = tuple(_window(window, model.limit_group, findings) for window in rules.windows)
    at_once = [f.figure for key, f in findings.items() if _is_at_once(key) and key.group == model.limit_group]
    bounds = [*at_once, *([] if rules.lanes_per_model is None else [rules.lanes_per_model])]
    rules = replace(rules, windows=windows, lanes_per_model=min(bounds, default=None))
    for key, finding in findings.items():
        if key.source is Source.ADAPTIVE and key.group == model.limit_group:
            rules = with_rate(rules, finding.figure / WINDOW_S)
    return replace(model, rules=rules)


def _provider(provider: ProviderSpec, findings: Mapping[LimitKey, Finding]) -> ProviderSpec:
    if provider.rules is None:
        return provider
    lanes = _at_once_by_account(findings)
    accounts = {credential.quota_group for credential in provider.credentials}
    whole = min(lanes.values(), default=None) if len(accounts) <= 1 else None
    models = {key: _narrowed(with_model_findings(model, findings), whole) for key, model in provider.models.items()}
    return replace(
        provider,
        rules=_with_lanes(provider.rules, whole),
        models=models,
        credentials=tuple(_credential(one, lanes) for one in provider.credentials),
    )


def _at_once_by_account(findings: Mapping[LimitKey, Finding]) -> dict[str, int]:
    return {key.account: finding.figure for key, finding in findings.items() if _is_at_once(key) and not key.group}


def _is_at_once(key: LimitKey) -> bool:
    return key.source is Source.TOLD and key.measure == AT_ONCE


def _narrowed(model: ModelSpec, lanes: int | None) -> ModelSpec:
    return replace(model, rules=_with_lanes(model.rules, lanes))


def _with_lanes(rules: LaneRules, lanes: int | None) -> LaneRules:
    return rules if lanes is None else replace(rules, lanes=min(rules.lanes, lanes))


def _credential(credential: CredentialSpec, lanes: Mapping[str, int]) -> CredentialSpec:
    told = lanes.get(credential.quota_group)
    if told is None:
        return credential
    return replace(credential, lanes=told if credential.lanes is None else min(credential.lanes, told))


def _window(window: WindowSpec, limit_group: str, findings: Mapping[LimitKey, Finding]) -> WindowSpec:
    """The lowest told limit; of that, what others leave us."""
    group = limit_group if window.scope is Scope.MODEL else ""
    ours = [(key, f) for key, f in findings.items() if _is_of(key, window, group)]
    limit = min([window.limit, *_figures(ours, Source.TOLD)])
    left = max(limit - sum(_figures(ours, Source.FOREIGN)), ceil_div(limit, 2))
    return replace(window, limit=left)


def _is_of(key: LimitKey, window: WindowSpec, group: str) -> bool:
    return (key.measure, key.window_us, key.group) == (window.measure.value, length_of(window), group)


def _figures(found: Iterable[tuple[LimitKey, Finding]], source: Source) -> list[int]:
    return [finding.figure for key, finding in found if key.source is source]


def until_of_foreign(window_us: int, wall_us: int) -> int:
    """Somebody else's use is gone once the window has passed, a second for the two clocks included."""
    return wall_us + window_us + SECOND_US
