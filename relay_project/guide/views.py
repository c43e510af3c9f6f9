"""`/guide/`, `/guide.md`, `/guide.json`: for whoever is signed in or has a personal token."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from relay_project.api.authentication import MayListModels, PersonalTokenAuthentication
from relay_project.guide.content import Guide, build_guide
from relay_project.guide.markdown import draw_markdown, split_words
from relay_project.rendering import Hearer, language_of, problem_response
from relay_project.wiring import get_relay


@require_GET
@login_required
def guide_page(request: HttpRequest) -> HttpResponse:
    guide = _guide(request)
    return render(request, "relay/guide.html", {"guide": guide, "split_words": split_words})


class _GuideView(APIView):
    authentication_classes = (PersonalTokenAuthentication, SessionAuthentication)
    permission_classes = (MayListModels,)

    def handle_exception(self, exc: Exception) -> Any:
        return problem_response(exc, Hearer(language=language_of(self.request.headers.get("accept-language", ""))))


class GuideMarkdown(_GuideView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponseBase:
        return HttpResponse(draw_markdown(_guide(request)), content_type="text/markdown; charset=utf-8")


class GuideJson(_GuideView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponseBase:
        return Response(_guide(request).as_dict())


def _guide(request: HttpRequest | Request) -> Guide:
    return build_guide(get_relay().configuration, request.build_absolute_uri("/").rstrip("/"))
