"""What the relay has learned about the models of a lane profile: beside the figures an admin has typed.

Limits and answer lengths come from rows, so they are what all processes know; how much caps reserve and how prompts
compare is each process's own, and is left out where this one runs no relay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import UsageRow
from accounts.outcomes import Outcome
from accounts.usage_page.words import a_number
from providers.models import Model, Provider
from relay_project.advisor.evidence import Heard
from relay_project.advisor.facts import LearnedLimit as LimitFact
from relay_project.advisor.facts import Reserved
from relay_project.advisor.percentiles import Percentiles, percentiles
from relay_project.advisor.words import CONCURRENCY, a_limit
from relay_project.learning.learning import Learning
from relay_project.learning.rows import read_findings
from relay_project.wiring import get_relay, relay_state
from scheduling.admin.lanes import LaneProfileAdmin
from scheduling.core.learned import AT_ONCE, Finding, LimitKey, Source
from scheduling.models import LaneProfile

LOOKED_BACK = timedelta(days=7)
PERCENTS = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Limit:
    text: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Learned:
    """One model's row."""

    name: str
    limits: list[Limit]
    lengths: str  # "120 / 300 / 410"; "" = no measured answer
    samples: str
    caps: str  # "reserved 2.0 × what was used"; "" = not known here
    prompts: str


def learned_of(provider: Provider) -> list[Learned]:
    """A row per model; three queries."""
    findings = read_findings(timezone.now()).findings
    lengths = _lengths(provider)
    learning = _learning()
    return [
        Learned(
            name=model.public_name,
            limits=[_limit(key, one) for key, one in findings.items() if _is_about(key, provider, model)],
            lengths=_percentiles(lengths.get((model.public_name,))),
            samples=a_number(lengths.get((model.public_name,), Percentiles(0)).of),
            caps="" if learning is None else _caps(learning, _key(provider, model)),
            prompts="" if learning is None else f"{learning.prompts.permille(_key(provider, model)) / 1000:.2f} ×",
        )
        for model in provider.models.all()
    ]


def heard() -> Heard:
    """For the advisor: limits that providers have lowered, and what caps reserve."""
    limits: dict[str, tuple[LimitFact, ...]] = {}
    reserved: dict[str, tuple[Reserved, ...]] = {}
    findings = read_findings(timezone.now()).findings
    for provider in Provider.objects.select_related("lane_profile").prefetch_related("models"):
        limits[provider.slug] = tuple(_facts(provider, findings))
        reserved[provider.slug] = tuple(_reserved(provider))
    return Heard(limits, reserved)


def _facts(provider: Provider, findings: Mapping[LimitKey, Finding]) -> Iterator[LimitFact]:
    names = {_group(provider, model): model.public_name for model in provider.models.all()}
    for key, finding in findings.items():
        if key.provider == provider.slug and key.source is Source.TOLD:
            measure, window_s = _shown(key)
            yield LimitFact(
                model=names.get(key.group, ""),
                measure=measure,
                window_s=window_s,
                configured=finding.configured,
                learned=finding.figure,
            )


def _reserved(provider: Provider) -> Iterator[Reserved]:
    learning, profile = _learning(), provider.lane_profile
    if learning is None or profile is None:
        return
    for model in provider.models.all():
        cost = learning.costs.of(_key(provider, model))
        if cost.answers:
            yield Reserved(
                model=model.public_name,
                reserved_tokens=cost.reserved_tokens,
                used_tokens=cost.used_tokens,
                answers=cost.answers,
                cap_lowered=bool(profile.answer_cap),
            )


def _learning() -> Learning | None:
    return get_relay().learning if relay_state() == "ready" else None


def _lengths(provider: Provider) -> dict[tuple[str, ...], Percentiles]:
    rows = UsageRow.objects.filter(
        created_at__gte=timezone.now() - LOOKED_BACK,
        provider=provider.slug,
        outcome=Outcome.COMPLETED,
        measured=UsageRow.Measured.MEASURED,
        completion_tokens__isnull=False,
    )
    return percentiles(rows, "completion_tokens", ("model",), PERCENTS)


def _percentiles(known: Percentiles | None) -> str:
    return "" if known is None else " / ".join(a_number(known.values[percent]) for percent in PERCENTS)


def _caps(learning: Learning, model: str) -> str:
    ratio = learning.costs.of(model).ratio
    return "" if ratio is None else _("reserved %(times)s × what was used") % {"times": a_number(ratio, 1)}


def _limit(key: LimitKey, finding: Finding) -> Limit:
    measure, window_s = _shown(key)
    figures = {
        "learned": a_limit(measure, finding.figure, window_s),
        "configured": a_limit(measure, finding.configured, window_s),
    }
    return Limit(_WORDS[key.source]() % figures, finding.evidence)


def _told() -> str:
    return _(
        "The provider has lowered your limit for now: %(learned)s instead of %(configured)s. "
        "Asking for quota will not help."
    )


def _foreign() -> str:
    return _("Somebody else uses this account: about %(learned)s are gone, of %(configured)s.")


def _adaptive() -> str:
    return _("Slowed down to what is not refused: %(learned)s instead of %(configured)s.")


_WORDS = {Source.TOLD: _told, Source.FOREIGN: _foreign, Source.ADAPTIVE: _adaptive}


def _shown(key: LimitKey) -> tuple[str, int]:
    return CONCURRENCY if key.measure == AT_ONCE else key.measure, key.window_us // 1_000_000


def _is_about(key: LimitKey, provider: Provider, model: Model) -> bool:
    return key.provider == provider.slug and key.group in ("", _group(provider, model))


def _group(provider: Provider, model: Model) -> str:
    return model.limit_group or _key(provider, model)


def _key(provider: Provider, model: Model) -> str:
    return f"{provider.slug}/{model.upstream_name}"


class LearnedProfileAdmin(LaneProfileAdmin):
    """The lane profile's page, with what was learned below its figures; see `relay_project.admin.lane_profiles`."""

    change_form_outer_after_template = "relay/admin/parts/learned.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        profile = self.get_object(request, object_id)
        context = {"learned": _of_profile(profile), **(extra_context or {})}
        page: HttpResponse = super().change_view(request, object_id, form_url, context)
        return page


def _of_profile(profile: LaneProfile | None) -> list[Learned]:
    try:
        return [] if profile is None else learned_of(profile.provider)
    except ObjectDoesNotExist:  # a profile that no provider uses yet
        return []
