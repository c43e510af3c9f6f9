"""“Try N at once” in the admin: a page of the provider, and a link to it from each of its models."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from providers.admin.models import ModelAdmin
from providers.models import Model, Provider
from relay_project.admin.connection import ConnectionAdmin
from relay_project.together.sending import MAX_TOKENS
from relay_project.together.trial import ALONE, FEWEST, MOST

USUAL_COUNT = 3


class TogetherAdmin(ConnectionAdmin):
    """What the provider's admin page has for trying several calls at once; see `relay_project.admin.providers`."""

    actions_detail = (*ConnectionAdmin.actions_detail, "together_page")

    @action(description=_("Try N at once"), url_path="together", permissions=["change"], icon="stacks")
    def together_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        provider = self.get_object(request, object_id)
        if not isinstance(provider, Provider):
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            "title": provider.name,
            "subtitle": _("Try N at once"),
            "opts": self.opts,
            "original": provider,
            "provider": provider,
            "profile_url": _profile_url(provider, request),
            "models": Model.objects.filter(provider=provider, enabled=True),
            "chosen": request.GET.get("model", ""),
            **_bounds(provider),
        }
        return TemplateResponse(request, "relay/admin/together.html", context)


admin.site.unregister(Model)  # the app's own page cannot reach the relay


@admin.register(Model)
class RelayModelAdmin(ModelAdmin):
    actions_detail = ("try_together",)

    @action(description=_("Try N at once"), url_path="together", permissions=["change"], icon="stacks")
    def try_together(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """On to the provider's page, where the lanes are."""
        model = self.get_object(request, object_id)
        if not isinstance(model, Model):
            raise Http404
        address = reverse("admin:providers_provider_together_page", args=[model.provider_id])
        return HttpResponseRedirect(f"{address}?{urlencode({'model': model.public_name})}")


def _bounds(provider: Provider) -> dict[str, Any]:
    lanes = provider.lane_profile.lanes if provider.lane_profile else 0
    usual = max(FEWEST, min(USUAL_COUNT, lanes))
    return {"fewest": FEWEST, "most": MOST, "usual": usual, "alone": ALONE, "max_tokens": MAX_TOKENS}


def _profile_url(provider: Provider, request: HttpRequest) -> str:
    """Empty where there is none, or the reader may not see it."""
    if provider.lane_profile_id is None or not request.user.has_perm("scheduling.view_laneprofile"):
        return ""
    return reverse("admin:scheduling_laneprofile_change", args=[provider.lane_profile_id])
