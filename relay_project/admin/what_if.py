"""“What if” beside a lane profile: the last day once more, with other numbers. Nothing changes, so seeing suffices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import action
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminIntegerFieldWidget

from accounts.usage_page.words import a_number
from providers.models import Provider
from relay_project.admin.learned import LearnedProfileAdmin
from relay_project.loading import load_configuration
from relay_project.snapshot import Configuration
from relay_project.what_if.arrivals import Arrivals, load_arrivals
from relay_project.what_if.comparing import compare
from relay_project.what_if.numbers import Numbers, numbers_of, token_measure
from scheduling.choices import MEASURES
from scheduling.core.charge import uses
from scheduling.core.spec import LaneRules, Measure
from scheduling.models import LaneProfile

MOST_LANES = 1_000
MOST_WAITING = 10_000
DAY_S = 86_400


def whole(label: Any, most: int, *, least: int = 1, required: bool = True, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        required=required,
        help_text=help_text,
        widget=UnfoldAdminIntegerFieldWidget,
    )


class WhatIfForm(forms.Form):
    """The names are those of `Numbers`, and `reserve`."""

    lanes = whole(_("Lanes"), MOST_LANES)
    lanes_per_model = whole(
        _("Of these per model"), MOST_LANES, required=False, help_text=_("Empty: as many as there are lanes.")
    )
    max_waiting = whole(_("Places in line"), MOST_WAITING, least=0)
    wait_timeout_s = whole(_("Longest wait, s"), DAY_S)
    rpm = whole(_("Requests a minute"), 10**9, required=False, help_text=_("Empty: no such limit."))
    tpm = whole(_("Tokens a minute"), 10**12, required=False, help_text=_("Empty: no such limit."))
    burst = whole(_("Burst"), MOST_LANES)
    reserve = forms.DecimalField(
        label=_("Set aside, × the answer"),
        min_value=1,
        max_value=1000,
        decimal_places=1,
        initial=1,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text=_("What callers' max_tokens reserve. The books do not hold it."),
    )

    def __init__(self, *args: Any, rules: LaneRules, **options: Any) -> None:
        super().__init__(*args, **options)
        measure = token_measure(rules)
        if measure is None:
            del self.fields["tpm"]
        elif measure is not Measure.TOTAL_TOKENS:
            self.fields["tpm"].help_text = _("Of %(measure)s. Empty: no such limit.") % {"measure": MEASURES[measure]}
        if not uses(rules.charge_rule, Measure.OUTPUT_TOKENS):
            del self.fields["reserve"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        lanes, per_model = cleaned.get("lanes"), cleaned.get("lanes_per_model")
        if lanes and per_model and per_model > lanes:
            self.add_error("lanes_per_model", _("Not more than there are lanes."))
        return cleaned

    @property
    def numbers(self) -> Numbers:
        """Of a valid form."""
        typed = {name: value for name, value in self.cleaned_data.items() if name != "reserve"}
        return Numbers(**{"tpm": None, **typed})

    @property
    def reserve_times(self) -> float:
        return float(self.cleaned_data.get("reserve", 1))


@dataclass(frozen=True, slots=True)
class _Subject:
    """Whose day it is."""

    profile: LaneProfile
    provider: Provider
    configuration: Configuration
    rules: LaneRules


class WhatIfAdmin(LearnedProfileAdmin):
    """What the lane profile's admin page has for trying numbers; see `relay_project.admin.lane_profiles`."""

    actions_detail = ("what_if",)

    @action(description=_("What if…"), url_path="what-if", permissions=["view"], icon="query_stats")
    def what_if(self, request: HttpRequest, object_id: str) -> HttpResponse:
        profile = self.get_object(request, object_id)
        if not isinstance(profile, LaneProfile):
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            "title": profile.name,
            "subtitle": _("What if…"),
            "opts": self.opts,
            "original": profile,
            **_page(request, _subject(profile)),
        }
        return TemplateResponse(request, "relay/admin/what_if.html", context)


def _subject(profile: LaneProfile) -> _Subject | None:
    """None for a profile that no provider has: nothing came that could be replayed."""
    try:
        provider = profile.provider
    except ObjectDoesNotExist:
        return None
    configuration = load_configuration()
    assert configuration.scheduler is not None, "a loaded configuration has one"
    rules = configuration.scheduler.providers[provider.slug].rules
    assert rules is not None, "the provider has this profile"
    return _Subject(profile, provider, configuration, rules)


def _page(request: HttpRequest, subject: _Subject | None) -> dict[str, Any]:
    if subject is None:
        return {"form": None}
    if request.method != "POST":
        return {"form": WhatIfForm(initial=asdict(numbers_of(subject.rules)), rules=subject.rules)}
    form = WhatIfForm(request.POST, rules=subject.rules)
    return {"form": form, **(_compared(form, subject) if form.is_valid() else {})}


def _compared(form: WhatIfForm, subject: _Subject) -> dict[str, Any]:
    configuration, slug = subject.configuration, subject.provider.slug
    assert configuration.scheduler is not None, "a loaded configuration has one"
    models = {entry.public_name: entry.key for entry in configuration.models.values() if entry.provider == slug}
    arrivals = load_arrivals(slug, models, timezone.now(), reserve=form.reserve_times)
    if not arrivals.calls:
        return {"nothing_came": True}
    comparison = compare(arrivals, configuration.scheduler, slug, form.numbers)
    return {"comparison": comparison, "notes": list(_notes(arrivals, subject, form.numbers))}


def _notes(arrivals: Arrivals, subject: _Subject, numbers: Numbers) -> Iterator[str]:
    assert arrivals.since is not None, "something came"
    since = date_format(timezone.localtime(arrivals.since), "Y-m-d H:i")
    figures = {"count": a_number(len(arrivals.calls)), "came": a_number(arrivals.came), "since": since}
    if arrivals.came > len(arrivals.calls):
        yield _("Of %(came)s requests of the last day the latest %(count)s, since %(since)s.") % figures
    else:
        yield ngettext("%(count)s request since %(since)s.", "%(count)s requests since %(since)s.", arrivals.came) % (
            figures
        )
    if arrivals.borrowed:
        yield ngettext(
            "%(count)s was turned away then: it is given the time and tokens of another call of its model.",
            "%(count)s were turned away then: they are given the times and tokens of other calls of their models.",
            arrivals.borrowed,
        ) % {"count": a_number(arrivals.borrowed)}
    yield from _bounds(subject, numbers)


def _bounds(subject: _Subject, numbers: Numbers) -> Iterator[str]:
    scheduler = subject.configuration.scheduler
    assert scheduler is not None, "a loaded configuration has one"
    relay = scheduler.relay
    if numbers.lanes > relay.max_running or numbers.lanes + numbers.max_waiting > relay.max_inside:
        words = _("The whole relay lets %(running)s run and %(inside)s in: that bounds this provider too.")
        yield words % {"running": relay.max_running, "inside": relay.max_inside}
    if subject.profile.overrides.exists():
        yield str(_("Models with figures of their own keep them."))
