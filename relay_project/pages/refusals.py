"""`/refusals/`: an administrator pastes a refusal and reads how the relay reads it, and what it would close."""

from __future__ import annotations

from datetime import datetime

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from providers.presets import VENDORS
from providers.refusals import ProviderAnswer, explain, read_refusal, retry_after_ms
from relay_project.catalogue import CATALOGUE
from relay_project.quota.consequences import EFFECTS, Effect
from relay_project.refusal_codes import CODES

LONGEST_PASTE = 200_000  # letters

EFFECT_WORDS = {
    Effect.NOTHING: _("Closes nothing."),
    Effect.BRIEF: _("Holds back further requests for that time (unless the lane profile passes refusals on)."),
    Effect.USED_UP: _("Closes what it hangs on until then; roles go round it, and probes ask now and then."),
    Effect.FAULT: _("Counts as a fault: several of them make roles ask others first."),
}


class RefusalForm(forms.Form):
    vendor = forms.ChoiceField(label=_("Provider"), choices=[(key, vendor.label) for key, vendor in VENDORS.items()])
    status = forms.IntegerField(label=_("HTTP status"), required=False, min_value=100, max_value=599)
    headers = forms.CharField(
        label=_("Headers, one a line"), required=False, widget=forms.Textarea({"rows": 5}), max_length=LONGEST_PASTE
    )
    body = forms.CharField(
        label=_("Body"), required=False, widget=forms.Textarea({"rows": 10}), max_length=LONGEST_PASTE
    )

    def clean_headers(self) -> dict[str, str]:
        """`name: value` lines; a line without a colon is named."""
        headers: dict[str, str] = {}
        for line in str(self.cleaned_data["headers"]).splitlines():
            name, colon, value = line.partition(":")
            if line.strip() and not colon:
                raise forms.ValidationError(_("This line has no colon: %(line)s"), params={"line": line[:80]})
            if line.strip():
                headers[name.strip().lower()] = value.strip()
        return headers

    def answer(self) -> ProviderAnswer:
        fields = self.cleaned_data
        return ProviderAnswer(
            vendor=fields["vendor"], status=fields["status"], headers=fields["headers"], body=fields["body"]
        )


@login_required
def refusal_page(request: HttpRequest) -> HttpResponse:
    if not request.user.is_staff:
        raise PermissionDenied
    form = RefusalForm(request.POST if request.method == "POST" else None)
    reading = _read(form.answer(), timezone.now()) if form.is_bound and form.is_valid() else None
    return render(request, "relay/refusals.html", {"form": form, "reading": reading})


def _read(answer: ProviderAnswer, now: datetime) -> dict[str, object]:
    refusal = read_refusal(answer, now)
    code = CODES[refusal.kind]
    return {
        "lines": explain(refusal).splitlines(),
        "kind": refusal.kind,
        "scope": refusal.scope,
        "retry_after_ms": retry_after_ms(refusal),
        "code": code,
        "status": CATALOGUE[code].status,
        "effect": EFFECT_WORDS[EFFECTS[refusal.kind]],
    }
