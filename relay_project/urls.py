"""Every address of the relay. WebSockets: routing.py."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from relay_project.api.health import healthz
from relay_project.api.models import ModelDetail, ModelList
from relay_project.api.provider_connection import ProviderCheck, ProviderTestCall
from relay_project.api.provider_together import ProviderTogether
from relay_project.api.queue import QueueView
from relay_project.guide.views import GuideJson, GuideMarkdown, guide_page
from relay_project.pages.queue import cancel_ticket, provider_lanes, queue_page
from relay_project.pages.refusals import refusal_page
from relay_project.pages.sign_in import SignIn

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="queue")),
    path("queue/", queue_page, name="queue"),
    path("queue/tickets/<str:ticket_id>/cancel/", cancel_ticket, name="queue-cancel"),
    path("queue/providers/<slug:slug>/lanes/", provider_lanes, name="queue-lanes"),
    path("usage/", include("accounts.urls")),
    path("admin/", admin.site.urls),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/providers/<slug:slug>/check", ProviderCheck.as_view(), name="api-provider-check"),
    path("api/providers/<slug:slug>/test", ProviderTestCall.as_view(), name="api-provider-test"),
    path("api/providers/<slug:slug>/together", ProviderTogether.as_view(), name="api-provider-together"),
    path("refusals/", refusal_page, name="refusals"),
    path("guide/", guide_page, name="guide"),
    path("guide.md", GuideMarkdown.as_view(), name="guide-md"),
    path("guide.json", GuideJson.as_view(), name="guide-json"),
    path("api/queue", QueueView.as_view(), name="api-queue"),
    path("api/schema", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="api-schema"), name="api-docs"),
    path("v1/models", ModelList.as_view(), name="models"),
    path("v1/models/<path:name>", ModelDetail.as_view(), name="model"),
    path("", include("relay_project.api.urls")),
    path("healthz", healthz, name="healthz"),
    path("favicon.ico", RedirectView.as_view(url=static("relay/icon.svg"))),  # the admin's pages name none
]

handler403 = "relay_project.pages.errors.forbidden"
handler404 = "relay_project.pages.errors.not_found"
handler500 = "relay_project.pages.errors.server_error"
