"""A configuration as the store takes it over: what its windows mean is worked out here, by the core's own code.

Lengths, slices, bursts and calendar periods thus have one implementation; the store only merges and wires them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from scheduling.core.axes import AxisPlan, plan_axes
from scheduling.core.moment import MINUTE_US, ceil_div
from scheduling.core.outcomes import Reason
from scheduling.core.periods import period_bounds
from scheduling.core.spec import (
    CredentialSpec,
    FairBy,
    FlowSpec,
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    SchedulerSpec,
    WindowKind,
)
from scheduling.core.windows import COUNTERS, EXACT_US

Message = dict[str, Any]

DAY_US: Final = 24 * 60 * MINUTE_US
CALENDAR_AHEAD_US: Final = 400 * DAY_US


def lay_out(spec: SchedulerSpec, wall_us: int) -> Message:
    """`wall_us`: calendars are told from a little before then to a year and a month after."""
    return {
        "version": spec.version,
        "relay": {"max_running": spec.relay.max_running, "max_inside": spec.relay.max_inside},
        "providers": [_provider(one) for one in spec.providers.values()],
        "flows": [_flow(one) for one in spec.flows.values()],
        "calendars": [
            {"id": f"{period}|{zone}", "starts": list(_starts(period, zone, wall_us))}
            for period, zone in _calendars(spec)
        ],
    }


def known_only(message: Message) -> Message:
    """Without what is None: a table in Lua has no such thing."""
    return {name: value for name, value in message.items() if value is not None}


def text_of(rules: LaneRules) -> str:
    return msgspec.json.encode(rules).decode()


def _provider(spec: ProviderSpec) -> Message:
    rules = spec.rules
    return known_only(
        {
            "key": spec.key,
            "lanes": rules.lanes if rules else None,
            "max_waiting": rules.max_waiting if rules else None,
            "rules": text_of(rules) if rules else None,
            "paused": spec.paused,
            "pause_message": spec.pause_message,
            "pause_sends_away": spec.pause_sends_away,
            "credentials": [_credential(one) for one in spec.credentials],
            "models": [_model(one) for one in spec.models.values()],
        }
    )


def _credential(spec: CredentialSpec) -> Message:
    return known_only(
        {"id": spec.id, "group": spec.quota_group, "lanes": spec.lanes, "model": spec.model, "paused": spec.paused}
    )


def _model(spec: ModelSpec) -> Message:
    rules = spec.rules
    return known_only(
        {
            "key": spec.key,
            "group": spec.limit_group,
            "lanes_per_model": rules.lanes_per_model,
            "wait_timeout_us": rules.wait_timeout_us,
            "rule": rules.charge_rule.value,
            "fair": rules.fair_by is FairBy.USER,
            "paused": spec.paused,
            "pause_message": spec.pause_message,
            "pause_sends_away": spec.pause_sends_away,
            "rules": text_of(rules),
            "plans": [_plan(one) for one in plan_axes(rules)],
        }
    )


def _plan(plan: AxisPlan) -> Message:
    spec = plan.spec
    _, _, *tail = plan.key("")
    exact = plan.length_us <= EXACT_US
    return known_only(
        {
            "scope": spec.scope.value,
            "tail": "|".join(str(part) for part in tail),
            "measure": spec.measure.value,
            "mode": spec.mode.value,
            "reason": (Reason.PACE if spec.measure is Measure.REQUESTS else Reason.TOKENS).value,
            "limit": plan.limit,
            "length_us": plan.length_us,
            "interval_us": plan.interval_us,
            "burst": plan.burst,
            "per_minute": plan.limit * MINUTE_US // plan.length_us if plan.length_us else plan.limit,
            "grain_us": 1 if exact else ceil_div(plan.length_us, COUNTERS - 1),
            "calendar": f"{spec.period}|{spec.zone}" if spec.kind is WindowKind.CALENDAR else None,
        }
    )


def _flow(spec: FlowSpec) -> Message:
    return known_only(
        {
            "key": spec.key,
            "weight": spec.weight,
            "concurrency": spec.concurrency,
            "rpm": spec.rpm,
            "tpm": spec.tpm,
        }
    )


def _calendars(spec: SchedulerSpec) -> list[tuple[str, str]]:
    windows = (
        window
        for provider in spec.providers.values()
        for model in provider.models.values()
        for window in model.rules.windows
    )
    return list(dict.fromkeys((one.period, one.zone) for one in windows if one.kind is WindowKind.CALENDAR))


def _starts(period: str, zone: str, wall_us: int) -> Iterator[int]:
    start_us, end_us = period_bounds(wall_us - DAY_US, period, zone)
    while start_us <= wall_us + CALENDAR_AHEAD_US:
        yield start_us
        start_us, end_us = period_bounds(end_us, period, zone)
