"""Error pages. An API address answers as the API does; a person gets a page that says what to do next."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from relay_project.errors import RelayError
from relay_project.rendering import Hearer, language_of, problem_response

API_PREFIXES = ("/v1/", "/api/")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_api(request):
        return problem_response(Http404(), _hearer(request))
    return render(request, "relay/404.html", status=404)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "relay/403.html", status=403)


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF check refused a form: as a rule it was open for too long, or cookies are off."""
    return render(request, "relay/403.html", {"form_expired": True}, status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """Needs neither session nor database: either may be what broke."""
    if _is_api(request):
        return problem_response(RelayError(), _hearer(request))
    return HttpResponse(render_to_string("relay/500.html"), status=500)


def _is_api(request: HttpRequest) -> bool:
    return f"{request.path}/".startswith(API_PREFIXES)


def _hearer(request: HttpRequest) -> Hearer:
    return Hearer(language=language_of(request.headers.get("accept-language", "")))
