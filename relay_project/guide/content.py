"""What the guide says, as plain values, from what is in force: catalogue, roles, models, lanes, presets.

Words are rendered in the language that is active.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext as _

from providers.presets import VENDORS
from relay_project.catalogue import CATALOGUE
from relay_project.snapshot import Configuration, ModelEntry
from scheduling.core.spec import LaneRules, Measure, WindowKind, WindowMode, WindowSpec
from scheduling.presets import LANE_PRESETS, LanePreset, WindowPreset


@dataclass(frozen=True, slots=True)
class ReasonCard:
    """One way in which the relay says no."""

    code: str
    status: int
    stage: str
    meaning: str
    advice: str
    retry: bool  # is trying again soon sensible


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model's specification as a developer needs it."""

    name: str
    provider: str
    context_window: int | None
    max_output: int | None
    capabilities: list[str]
    at_once: int  # how many requests may run at once: the enforced lane, or what is advised if that is less
    split: str  # "" | few_large | many_small
    wait_timeout_s: float
    run_timeout_s: float
    pace: list[str]


@dataclass(frozen=True, slots=True)
class RoleCard:
    name: str
    description: str
    models: list[str]


@dataclass(frozen=True, slots=True)
class PresetCard:
    """What a provider of this kind starts with."""

    key: str
    label: str
    lanes: int | None
    lanes_per_model: int | None
    wait_timeout_s: int | None
    run_timeout_s: int | None
    pace: list[str]
    note: str


@dataclass(frozen=True, slots=True)
class Guide:
    base_url: str
    rules: list[str]
    roles: list[RoleCard]
    models: list[ModelCard]
    reasons: list[ReasonCard]
    presets: list[PresetCard]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def build_guide(configuration: Configuration, base_url: str) -> Guide:
    """`base_url`: the relay's origin, without a trailing slash."""
    return Guide(
        base_url=f"{base_url}/v1",
        rules=stability_rules(),
        roles=list(_roles(configuration)),
        models=list(_models(configuration)),
        reasons=reasons(),
        presets=presets(),
    )


def stability_rules() -> list[str]:
    return [
        _("Name a role (such as fast-chat) rather than a model: the relay goes round what is used up."),
        _(
            "When told no, wait the told time (Retry-After, retry-after-ms) plus a little random time of your own, "
            "then send again. Sooner only makes the line longer."
        ),
        _("x-should-retry: false means: do not send this again soon. Show the reason to your user instead."),
        _(
            "While you wait, show it: the place in line comes over /ws/queue, and inside a stream if you send "
            "X-Relay-Queue-Events: 1."
        ),
        _("Send as many at once as the model's card says and no more; further ones only stand in line."),
        _("Mark background work with X-Relay-Class: batch, so that people go first."),
        _("Set max_tokens to what you need: many providers count it in full, however short the answer."),
        _("Say with X-Relay-Max-Wait-Ms how long an answer is still of use to you: you are told at once if it is not."),
        _("Split work as the card advises: few large requests, or many small ones."),
    ]


def reasons() -> list[ReasonCard]:
    """Every code there is, in the order of the catalogue."""
    blanks: Mapping[str, str] = defaultdict(lambda: "…")
    return [
        ReasonCard(
            code=code,
            status=entry.status,
            stage=entry.stage,
            meaning=str(entry.message) % blanks,
            advice=str(entry.advice),
            retry=entry.retry,
        )
        for code, entry in CATALOGUE.items()
    ]


def presets() -> list[PresetCard]:
    return [
        PresetCard(
            key=key,
            label=str(VENDORS[key].label),
            lanes=preset.lanes,
            lanes_per_model=preset.lanes_per_model,
            wait_timeout_s=preset.wait_timeout_s,
            run_timeout_s=preset.run_timeout_s,
            pace=[_window_words(window) for window in preset.windows],
            note=_note_of(key, preset),
        )
        for key, preset in sorted(LANE_PRESETS.items())
    ]


def _note_of(key: str, preset: LanePreset) -> str:
    return preset.note or str(VENDORS[key].notes)


def _roles(configuration: Configuration) -> Iterator[RoleCard]:
    for role in configuration.roles.values():
        models = (configuration.models.get(key) for key in role.candidates)
        names = [model.public_name for model in models if model is not None and model.enabled]
        yield RoleCard(role.name, role.description, names)


def _models(configuration: Configuration) -> Iterator[ModelCard]:
    for model in sorted(configuration.models.values(), key=lambda model: model.public_name):
        rules = _rules_of(configuration, model)
        if model.enabled and rules is not None:
            yield _model_card(configuration, model, rules)


def _rules_of(configuration: Configuration, model: ModelEntry) -> LaneRules | None:
    if configuration.scheduler is None:
        return None
    spec = configuration.scheduler.providers[model.provider].models.get(model.key)
    return None if spec is None else spec.rules


def _model_card(configuration: Configuration, model: ModelEntry, rules: LaneRules) -> ModelCard:
    lane = rules.lanes if rules.lanes_per_model is None else min(rules.lanes, rules.lanes_per_model)
    return ModelCard(
        name=model.public_name,
        provider=configuration.providers[model.provider].name,
        context_window=model.context_window,
        max_output=model.max_output,
        capabilities=sorted(model.capabilities),
        at_once=min(lane, model.advised_concurrency or lane),
        split=model.split_advice,
        wait_timeout_s=rules.wait_timeout_us / 1e6,
        run_timeout_s=rules.run_timeout_us / 1e6,
        pace=[_window_words(window) for window in rules.windows],
    )


def _window_words(window: WindowSpec | WindowPreset) -> str:
    """ "60 requests per minute", "about 250 requests per day (an estimate, not enforced)"."""
    words = _("%(limit)s %(measure)s per %(span)s") % {
        "limit": f"{window.limit:,}",
        "measure": _MEASURES[window.measure](),
        "span": _span_words(window),
    }
    if window.mode is WindowMode.ESTIMATE:
        return _("about %(words)s (an estimate, not enforced)") % {"words": words}
    return words


def _span_words(window: WindowSpec | WindowPreset) -> str:
    if window.kind is WindowKind.CALENDAR:
        return f"{_PERIODS[window.period]()} ({window.zone})"
    seconds = window.window_us // 1_000_000 if isinstance(window, WindowSpec) else window.window_s or 0
    if seconds == 60:
        return _("minute")
    if seconds and seconds % 3600 == 0:
        return _("%(hours)s h") % {"hours": seconds // 3600}
    return _("%(seconds)s s") % {"seconds": seconds}


_MEASURES = {
    Measure.REQUESTS: lambda: _("requests"),
    Measure.INPUT_TOKENS: lambda: _("input tokens"),
    Measure.OUTPUT_TOKENS: lambda: _("output tokens"),
    Measure.TOTAL_TOKENS: lambda: _("tokens"),
}
_PERIODS = {"day": lambda: _("day"), "week": lambda: _("week"), "month": lambda: _("month")}
