"""`{% advice_about original %}`: what the advisor has to say of a provider or of its lane profile."""

from __future__ import annotations

from typing import Any

from django import template
from django.core.exceptions import ObjectDoesNotExist

from providers.models import Provider
from scheduling.models import LaneProfile

register = template.Library()


@register.inclusion_tag("relay/admin/parts/sentences.html", takes_context=True)
def advice_about(context: template.Context, row: Provider | LaneProfile | None) -> dict[str, Any]:
    # Late: Unfold draws a field while it is imported, which loads this library before the admin's pages are there.
    from relay_project.admin.advice import advice_on_one

    provider = _provider_of(row)
    sentences = [] if provider is None else advice_on_one(provider, context["request"].user)
    return {"sentences": sentences, "here": context["request"].path}


def _provider_of(row: Provider | LaneProfile | None) -> Provider | None:
    """A new row has none yet; a lane profile may have none."""
    if not isinstance(row, LaneProfile):
        return row
    try:
        provider: Provider = row.provider
    except ObjectDoesNotExist:
        return None
    return provider
