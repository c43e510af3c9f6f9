"""What is configured: frozen values the admin's rows are turned into, read by the decision.

All durations are whole microseconds, all token figures whole tokens. A `SchedulerSpec` is one version of everything;
a change in the admin makes a new one and the running decision takes it over at once.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Class(enum.IntEnum):
    """Priority class; a smaller number goes first."""

    INTERACTIVE = 0
    NORMAL = 1
    BATCH = 2


class Measure(enum.StrEnum):
    REQUESTS = "requests"
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    TOTAL_TOKENS = "total_tokens"


class WindowKind(enum.StrEnum):
    SLIDING = "sliding"  # half-open (t − W, t]
    FIXED = "fixed"  # a provider's clock minute; enforced as sliding
    CALENDAR = "calendar"


class WindowMode(enum.StrEnum):
    ENFORCED = "enforced"
    ESTIMATE = "estimate"  # shown, never delays or refuses


class Scope(enum.StrEnum):
    """What a window or state hangs on."""

    PROVIDER = "provider"
    MODEL = "model"  # the model's limit_group within the provider
    CREDENTIAL = "credential"  # the credential's quota_group


class ChargeRule(enum.StrEnum):
    RESERVE_AND_SETTLE = "reserve_and_settle"
    PROMPT_PLUS_MAX = "prompt_plus_max"
    MAX_OF = "max_of"
    INPUT_OUTPUT = "input_output"
    INPUT_ONLY = "input_only"
    REQUESTS_ONLY = "requests_only"


class FairBy(enum.StrEnum):
    USER = "user"
    NONE = "none"


class OnBriefRefusal(enum.StrEnum):
    WAIT_ONCE = "wait_once"
    PASS_ON = "pass_on"  # noqa: S105 - not a password


class OnDisconnect(enum.StrEnum):
    CANCEL = "cancel"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class WindowSpec:
    measure: Measure
    limit: int
    kind: WindowKind = WindowKind.SLIDING
    window_us: int = 60_000_000  # sliding and fixed
    period: str = ""  # calendar: "day" | "week" | "month"
    zone: str = ""  # calendar: IANA name
    scope: Scope = Scope.MODEL
    mode: WindowMode = WindowMode.ENFORCED
    slice_us: int = 0  # the provider also judges this shorter slice (e.g. 1 s of a minute); 0 = none


@dataclass(frozen=True, slots=True)
class LaneRules:
    """A lane profile resolved for one model (profile plus that model's overrides)."""

    lanes: int  # at once on the provider
    lanes_per_model: int | None  # at once on one model; None = only the provider's figure
    max_waiting: int  # waiting on the provider, all its lines together
    wait_timeout_us: int
    run_timeout_us: int
    windows: tuple[WindowSpec, ...] = ()
    burst: int = 1
    guard_us: int = 50_000
    charge_rule: ChargeRule = ChargeRule.RESERVE_AND_SETTLE
    fair_by: FairBy = FairBy.USER
    on_brief_refusal: OnBriefRefusal = OnBriefRefusal.WAIT_ONCE
    on_disconnect: OnDisconnect = OnDisconnect.CANCEL
    drain_us: int = 0
    brief_default_us: int = 1_000_000
    used_up_default_us: int = 600_000_000
    adaptive: bool = False
    answer_cap: bool = False
    answer_cap_streams: bool = False


@dataclass(frozen=True, slots=True)
class ModelSpec:
    key: str  # unique in the relay: "<provider>/<upstream name>"
    limit_group: str  # models that share a limit name the same group; default: the model's own key
    rules: LaneRules
    paused: bool = False
    pause_message: str = ""
    pause_sends_away: bool = False  # while paused: those who wait leave, instead of staying in line


@dataclass(frozen=True, slots=True)
class CredentialSpec:
    id: str
    quota_group: str  # the account or project the provider counts
    lanes: int | None = None
    model: str | None = None  # bound to one model key
    paused: bool = False


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    key: str  # slug
    rules: LaneRules | None  # None = lane profile missing: nothing starts, loudly
    models: Mapping[str, ModelSpec] = field(default_factory=dict)
    credentials: tuple[CredentialSpec, ...] = ()
    paused: bool = False
    pause_message: str = ""
    pause_sends_away: bool = False  # while paused: those who wait leave, instead of staying in line


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """A user's, token's or team's own limits. None = not limited."""

    key: str  # "user:7", "token:12", "team:3"
    weight: int = 1
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None


@dataclass(frozen=True, slots=True)
class RelaySpec:
    max_running: int = 10
    max_inside: int = 16  # running + waiting


@dataclass(frozen=True, slots=True)
class SchedulerSpec:
    version: int
    relay: RelaySpec
    providers: Mapping[str, ProviderSpec]
    flows: Mapping[str, FlowSpec] = field(default_factory=dict)
