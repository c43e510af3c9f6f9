"""A provider's connection in the admin: a page that tries it and shows what happens, pausing, and both for several.

Checks and test calls run in the serving process, on the same lanes as everybody's calls (`relay_project.connections`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.models import User
from providers.admin import ProviderAdmin
from providers.admin.provider import connection_in_words, light
from providers.models import ConnectionState, Model, Provider
from relay_project.admin_connections import Reports, check_several, test_call_several
from relay_project.api.provider_connection import language_now
from relay_project.connection_report import CheckReport
from relay_project.connection_words import STAGES, headline_of, message_of
from relay_project.loading import caller_of_session

WAITED_FOR_S = 10  # how long the list waits for several reports; what takes longer goes on


class PauseForm(BaseDialogForm):
    # Not named as the provider's own field: both stand on one page, and ids there must differ.
    message = forms.CharField(
        label=_("Message"),
        required=False,
        max_length=200,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Callers are told this."),
    )


PAUSE_DIALOG = {
    "title": _("Pause this provider?"),
    "description": _("Nothing new starts, a connection check included. What runs now goes on to its end."),
    "form_submit_text": _("Pause"),
    "form_class": PauseForm,
}
RESUME_DIALOG = {
    "title": _("Resume this provider?"),
    "description": _("Those who wait start at once, as far as its lanes have room."),
    "form_submit_text": _("Resume"),
}


class ConnectionAdmin(ProviderAdmin):
    """What the provider's admin page has for its connection; see `relay_project.admin.providers`."""

    actions: tuple[str, ...] = (*ProviderAdmin.actions, "check_connections", "send_test_calls")
    actions_detail: tuple[str, ...] = ("connection_page", "pause_this", "resume_this")
    actions_row = ("connection_page",)

    class Media:
        css = {"all": ("relay/admin/lists.css",)}

    @display(description=_("connection"), ordering="connection_state")
    def connection(self, provider: Provider) -> Any:
        if provider.connection_state != ConnectionState.FAILED:
            return connection_in_words(provider)
        stage = STAGES.get(provider.failed_stage, provider.failed_stage)
        return f"{provider.failed_reason} ({_('failed at: %(stage)s') % {'stage': stage}})"

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Pause or resume, whichever there is to do."""
        provider = self.get_object(request, object_id)
        needless = "resume_this" if provider is None or not provider.paused else "pause_this"
        return [one for one in super().get_actions_detail(request, object_id) if one.path != needless]

    @action(description=_("Connection"), url_path="connection", permissions=["change"], icon="cable")
    def connection_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        provider = self._provider(request, object_id)
        context = {
            **self.admin_site.each_context(request),
            "title": provider.name,
            "subtitle": _("Connection"),
            "opts": self.opts,
            "original": provider,
            "provider": provider,
            "light": light(provider),
            "so_far": self.connection(provider),
            "models": Model.objects.filter(provider=provider, enabled=True),
            "provider_url": reverse("admin:providers_provider_change", args=[provider.pk]),
        }
        return TemplateResponse(request, "relay/admin/connection.html", context)

    @action(description=_("Pause"), url_path="pause_this", permissions=["change"], icon="pause", dialog=PAUSE_DIALOG)
    def pause_this(self, request: HttpRequest, form: PauseForm, object_id: str) -> HttpResponse:
        provider = self._provider(request, object_id)
        provider.paused, provider.pause_message = True, form.cleaned_data["message"]
        provider.save(update_fields=["paused", "pause_message"])
        self.message_user(request, _("Paused: nothing new starts."))
        return self._back_to(provider)

    @action(
        description=_("Resume"),
        url_path="resume_this",
        permissions=["change"],
        icon="play_arrow",
        dialog=RESUME_DIALOG,
    )
    def resume_this(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        provider = self._provider(request, object_id)
        provider.paused, provider.pause_message = False, ""
        provider.save(update_fields=["paused", "pause_message"])
        self.message_user(request, _("Resumed."))
        return self._back_to(provider)

    @admin.action(description=_("Check the connection"), permissions=["change"])
    def check_connections(self, request: HttpRequest, providers: QuerySet[Provider]) -> None:
        names = dict(providers.values_list("slug", "name"))
        self._tell(request, names, check_several(list(names), language_now(), within_s=WAITED_FOR_S))

    @admin.action(description=_("Send a test call"), permissions=["change"])
    def send_test_calls(self, request: HttpRequest, providers: QuerySet[Provider]) -> None:
        assert isinstance(request.user, User), "the admin lets only signed-in users in"
        names = dict(providers.values_list("slug", "name"))
        callable_models = Model.objects.filter(provider__in=providers, provider__enabled=True, enabled=True)
        # Ordered the other way round, so that of each provider its first model stays.
        pairs = callable_models.order_by("-public_name").values_list("provider__slug", "public_name")
        first_models = dict(pairs)
        for slug in names.keys() - first_models.keys():
            messages.warning(request, _("%(name)s: it is off, or has no model that is on.") % {"name": names[slug]})
        caller = caller_of_session(request.user)
        self._tell(request, names, test_call_several(first_models, caller, language_now(), within_s=WAITED_FOR_S))

    def _tell(self, request: HttpRequest, names: Mapping[str, str], reports: Reports) -> None:
        for slug, report in reports.items():
            level = messages.INFO if report is None else messages.SUCCESS if report.ok else messages.ERROR
            self.message_user(request, f"{names[slug]}: {_outcome(report)}", level)

    def _provider(self, request: HttpRequest, object_id: str) -> Provider:
        provider = self.get_object(request, object_id)
        if not isinstance(provider, Provider):
            raise Http404
        return provider

    def _back_to(self, provider: Provider) -> HttpResponse:
        return HttpResponse(headers={"HX-Redirect": reverse("admin:providers_provider_change", args=[provider.pk])})


def _outcome(report: CheckReport | None) -> str:
    if report is None:
        return str(_("still under way; the list shows what it comes to."))
    return " – ".join(_said(report))


def _said(report: CheckReport) -> Iterator[str]:
    language = language_now()
    yield headline_of(report, language)
    if message := message_of(report, language):
        yield message
