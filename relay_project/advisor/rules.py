"""The rules: facts of one provider → advice. Pure, one function a rule, no words in it.

A line with `lanes` places drains `lanes` calls in the time of one. Whoever joins it behind one round of calls that has
just begun waits up to twice that time; a line that gives up earlier refuses people who stand behind ordinary calls.
Hence the first rule's bound: lanes × longest wait ≥ 2 × the duration.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from relay_project.advisor.facts import ModelFacts, ProviderFacts

ENOUGH_CALLS = 20  # fewer have no 95th in a hundred worth a sentence
ENOUGH_ANSWERS = 20
DURATIONS = 2  # a line must outlast so many
WASTEFUL = 2.0  # caps that set aside more than so many times what is used


class Rule(enum.StrEnum):
    PROFILE_MISSING = "profile_missing"
    CONNECTION_FAILED = "connection_failed"
    RUN_BELOW_ADAPTER = "run_below_adapter"
    RUN_BELOW_UPSTREAM = "run_below_upstream"
    LINE_GIVES_UP_BEFORE_CALLS = "line_gives_up_before_calls"
    LINE_GIVES_UP_BEFORE_CHECK = "line_gives_up_before_check"
    LIMIT_LOWERED = "limit_lowered"
    CAPS_RESERVE_TOO_MUCH = "caps_reserve_too_much"
    NEVER_CHECKED = "never_checked"


SERIOUS = frozenset({Rule.PROFILE_MISSING, Rule.CONNECTION_FAILED, Rule.RUN_BELOW_ADAPTER})
"""Calls fail because of these; the others cost waiting, refusals or money."""

Figure = str | int | float


@dataclass(frozen=True, slots=True)
class Advice:
    rule: Rule
    provider: str  # slug
    figures: dict[str, Figure] = field(default_factory=dict)  # what the sentence names
    model: str = ""  # public name, where it is about one model

    @property
    def is_serious(self) -> bool:
        return self.rule in SERIOUS


def advise(providers: Sequence[ProviderFacts]) -> list[Advice]:
    """All advice; what makes calls fail first, else in the order of the providers and rules."""
    found = [advice for facts in providers for rule in RULES for advice in rule(facts)]
    return sorted(found, key=lambda advice: not advice.is_serious)


def profile_missing(facts: ProviderFacts) -> Iterator[Advice]:
    if not facts.has_profile:
        yield Advice(Rule.PROFILE_MISSING, facts.slug, {"name": facts.name})


def connection(facts: ProviderFacts) -> Iterator[Advice]:
    if facts.connection == "failed":
        said: dict[str, Figure] = {"name": facts.name, "stage": facts.failed_stage, "reason": facts.failed_reason}
        yield Advice(Rule.CONNECTION_FAILED, facts.slug, said)
    elif facts.enabled and facts.connection == "unverified":
        yield Advice(Rule.NEVER_CHECKED, facts.slug, {"name": facts.name})


def line_gives_up_before_calls(facts: ProviderFacts) -> Iterator[Advice]:
    """The one model that is furthest from fitting speaks for its provider."""
    misfits = [model for model in facts.models if _gives_up_too_early(model)]
    if misfits:
        model = min(misfits, key=lambda one: one.lanes * one.wait_timeout_s / (one.p95_run_ms or 1))
        assert model.p95_run_ms is not None, "without a duration it is no misfit"
        figures = {"lanes": model.lanes, "wait_s": model.wait_timeout_s, "run_ms": model.p95_run_ms}
        yield _of_model(Rule.LINE_GIVES_UP_BEFORE_CALLS, facts, model, figures)


def line_gives_up_before_check(facts: ProviderFacts) -> Iterator[Advice]:
    if facts.check_ms is None or facts.lanes is None or facts.wait_timeout_s is None:
        return
    if _is_short(facts.lanes, facts.wait_timeout_s, facts.check_ms):
        figures = {"lanes": facts.lanes, "wait_s": facts.wait_timeout_s, "check_ms": facts.check_ms}
        yield Advice(Rule.LINE_GIVES_UP_BEFORE_CHECK, facts.slug, {"name": facts.name, **figures})


def run_below_adapter(facts: ProviderFacts) -> Iterator[Advice]:
    """The adapter knows why a call hangs, so it must be the one that speaks first."""
    cap_s = facts.adapter_cap_s
    too_short = [model for model in facts.models if cap_s is not None and model.run_timeout_s <= cap_s]
    if too_short and cap_s is not None:
        model = min(too_short, key=lambda one: one.run_timeout_s)
        yield _of_model(Rule.RUN_BELOW_ADAPTER, facts, model, {"run_s": model.run_timeout_s, "cap_s": cap_s})


def run_below_upstream(facts: ProviderFacts) -> Iterator[Advice]:
    """Nobody publishes how long an upstream may take; calls that the run limit stopped show that it is longer."""
    stopped = [model for model in facts.models if model.timed_out]
    if stopped:
        model = max(stopped, key=lambda one: one.timed_out)
        figures = {"run_s": model.run_timeout_s, "stopped": model.timed_out, "calls": model.calls}
        yield _of_model(Rule.RUN_BELOW_UPSTREAM, facts, model, figures)


def limit_lowered(facts: ProviderFacts) -> Iterator[Advice]:
    for limit in facts.learned:
        if limit.learned < limit.configured:
            figures: dict[str, Figure] = {
                "name": _named(facts, limit.model),
                "measure": limit.measure,
                "window_s": limit.window_s,
                "configured": limit.configured,
                "learned": limit.learned,
            }
            yield Advice(Rule.LIMIT_LOWERED, facts.slug, figures, limit.model)


def caps_reserve_too_much(facts: ProviderFacts) -> Iterator[Advice]:
    for one in facts.reserved:
        if one.cap_lowered or one.answers < ENOUGH_ANSWERS or not one.used_tokens:
            continue
        times = one.reserved_tokens / one.used_tokens
        if times > WASTEFUL:
            figures: dict[str, Figure] = {"name": _named(facts, one.model), "times": round(times, 1)}
            yield Advice(Rule.CAPS_RESERVE_TOO_MUCH, facts.slug, figures, one.model)


RULES: tuple[Callable[[ProviderFacts], Iterator[Advice]], ...] = (
    profile_missing,
    connection,
    run_below_adapter,
    run_below_upstream,
    line_gives_up_before_calls,
    line_gives_up_before_check,
    limit_lowered,
    caps_reserve_too_much,
)


def _gives_up_too_early(model: ModelFacts) -> bool:
    if model.p95_run_ms is None or model.calls < ENOUGH_CALLS:
        return False
    return _is_short(model.lanes, model.wait_timeout_s, model.p95_run_ms)


def _is_short(lanes: int, wait_timeout_s: int, duration_ms: int) -> bool:
    return lanes * wait_timeout_s * 1000 < DURATIONS * duration_ms


def _of_model(rule: Rule, facts: ProviderFacts, model: ModelFacts, figures: dict[str, int]) -> Advice:
    return Advice(rule, facts.slug, {"name": _named(facts, model.name), **figures}, model.name)


def _named(facts: ProviderFacts, model: str) -> str:
    """A provider's only model needs no naming beside it."""
    return facts.name if not model or len(facts.models) < 2 else f"{facts.name} · {model}"
