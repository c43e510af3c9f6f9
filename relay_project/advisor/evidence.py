"""Rows → facts, in a fixed number of queries however many providers, models and calls there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import QuerySet

from accounts.models import UsageRow
from accounts.outcomes import Outcome
from providers.models import Model, Provider
from providers.presets import VENDORS
from relay_project.advisor.facts import LearnedLimit, ModelFacts, ProviderFacts, Reserved
from relay_project.advisor.percentiles import Percentiles, percentiles
from scheduling.models import LaneProfile, ModelOverride

LOOKED_BACK = timedelta(days=1)
RAN = (Outcome.COMPLETED, Outcome.RECOVERED, Outcome.TRUNCATED, Outcome.RUN_TIMEOUT)
"""Endings of calls that held their lane for as long as they took; a refusal's quick no says nothing of that."""
MOST_STOPPED = 2_000  # calls stopped by the run limit that are looked at
Key = tuple[str, ...]  # provider slug, public name of the model


@dataclass(frozen=True, slots=True)
class Heard:
    """What the relay has heard from providers and callers: by provider slug."""

    limits: Mapping[str, tuple[LearnedLimit, ...]] = field(default_factory=dict)
    reserved: Mapping[str, tuple[Reserved, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Day:
    """How calls went in the last day."""

    durations: Mapping[Key, Percentiles]
    stopped: Mapping[Key, list[int]]  # run times of calls that were given up, ms

    def of(self, provider: str, model: str, run_timeout_s: int) -> tuple[int, int | None, int]:
        """Calls, p95 in ms, and how many the run limit stopped."""
        durations = self.durations.get((provider, model), Percentiles(0))
        stopped = [run_ms for run_ms in self.stopped.get((provider, model), ()) if run_ms >= run_timeout_s * 1000]
        return durations.of, durations.values.get(95), len(stopped)


def to_look_at(providers: QuerySet[Provider]) -> list[Provider]:
    """With all of their rows that `load_facts` reads; three queries."""
    return list(providers.select_related("lane_profile").prefetch_related("models", "lane_profile__overrides"))


def load_facts(providers: Sequence[Provider], now: datetime, heard: Heard | None = None) -> list[ProviderFacts]:
    """`providers` as `to_look_at` gives them; two queries more."""
    day = _load_day(now - LOOKED_BACK)
    return [_facts(provider, day, heard or Heard()) for provider in providers]


def _load_day(since: datetime) -> _Day:
    rows = UsageRow.objects.filter(created_at__gte=since)
    durations = percentiles(rows.filter(outcome__in=RAN), "run_ms", ("provider", "model"), (95,))
    given_up = rows.filter(outcome=Outcome.RUN_TIMEOUT).order_by("-created_at")
    stopped: dict[Key, list[int]] = {}
    for provider, model, run_ms in given_up.values_list("provider", "model", "run_ms")[:MOST_STOPPED]:
        stopped.setdefault((provider, model), []).append(run_ms)
    return _Day(durations, stopped)


def _facts(provider: Provider, day: _Day, heard: Heard) -> ProviderFacts:
    profile, vendor = provider.lane_profile, VENDORS.get(provider.vendor)
    return ProviderFacts(
        slug=provider.slug,
        name=provider.name,
        enabled=provider.enabled,
        has_profile=profile is not None,
        lanes=profile.lanes if profile else None,
        wait_timeout_s=profile.wait_timeout_s if profile else None,
        connection=provider.connection_state,
        failed_stage=provider.failed_stage,
        failed_reason=provider.failed_reason,
        check_ms=provider.last_check_ms,
        adapter_cap_s=vendor.adapter_cap_s if vendor else None,
        models=tuple(_model_facts(provider, profile, day)) if profile else (),
        learned=heard.limits.get(provider.slug, ()),
        reserved=heard.reserved.get(provider.slug, ()),
    )


def _model_facts(provider: Provider, profile: LaneProfile, day: _Day) -> list[ModelFacts]:
    overrides = {override.model_id: override for override in profile.overrides.all()}
    return [
        _facts_of_model(provider.slug, model, profile, overrides.get(model.pk), day)
        for model in provider.models.all()
        if model.enabled
    ]


def _facts_of_model(
    slug: str, model: Model, profile: LaneProfile, override: ModelOverride | None, day: _Day
) -> ModelFacts:
    run_timeout_s = _figure("run_timeout_s", profile, override) or profile.run_timeout_s
    calls, p95_run_ms, timed_out = day.of(slug, model.public_name, run_timeout_s)
    return ModelFacts(
        name=model.public_name,
        lanes=min(profile.lanes, _figure("lanes_per_model", profile, override) or profile.lanes),
        wait_timeout_s=_figure("wait_timeout_s", profile, override) or profile.wait_timeout_s,
        run_timeout_s=run_timeout_s,
        calls=calls,
        p95_run_ms=p95_run_ms,
        timed_out=timed_out,
    )


def _figure(name: str, profile: LaneProfile, override: ModelOverride | None) -> int | None:
    own: int | None = getattr(override, name, None)
    general: int | None = getattr(profile, name)
    return general if own is None else own
