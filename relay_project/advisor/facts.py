"""What the rules look at: plain values of one provider, wherever they were found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """How one model is set up, and how its calls went in the last day."""

    name: str  # public name
    lanes: int  # of its calls so many run at once
    wait_timeout_s: int
    run_timeout_s: int
    calls: int = 0  # that ran to their end, or to the run limit
    p95_run_ms: int | None = None  # None = no call
    timed_out: int = 0  # calls that the run limit stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLimit:
    """A limit as the profile has it, and as the provider itself said it."""

    model: str  # public name; "" = the whole provider
    measure: str  # scheduling.core.spec.Measure, or "concurrency"
    window_s: int  # 0 for concurrency
    configured: int
    learned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Tokens of answers: what callers' caps set aside, and what the answers came to."""

    model: str
    reserved_tokens: int
    used_tokens: int
    answers: int
    cap_lowered: bool = False  # the profile lowers caps already


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    slug: str
    name: str
    enabled: bool = True
    has_profile: bool = True
    lanes: int | None = None  # of the profile; None without one
    wait_timeout_s: int | None = None
    connection: str = "verified"  # providers.models.ConnectionState
    failed_stage: str = ""
    failed_reason: str = ""
    check_ms: int | None = None  # how long the last check took
    adapter_cap_s: int | None = None  # after how long its adapter gives up by itself
    models: tuple[ModelFacts, ...] = ()
    learned: tuple[LearnedLimit, ...] = ()
    reserved: tuple[Reserved, ...] = ()
