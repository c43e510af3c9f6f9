"""`POST /api/providers/{slug}/check` and `/test`: the connection of a provider, tried by a person.

The answer is the report. With `Accept: application/x-ndjson` it is a line of JSON at once, at every change and every
second, each saying in words what is happening, and the report last: nothing has to be asked twice, so it does not
matter which of several processes answers. Whoever leaves ends a test call; a check goes on, for others may have joined.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import msgspec
from asgiref.sync import async_to_sync
from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from providers.models import Model, Provider
from relay_project.connection_report import CheckReport
from relay_project.connection_run import Progress, Run
from relay_project.connection_words import phase_words, report_in_words
from relay_project.errors import InvalidRequest
from relay_project.loading import caller_of_session
from relay_project.rendering import LANGUAGES, Hearer, problem_frame, problem_response
from relay_project.wiring import get_relay

LINES = "application/x-ndjson"


class MayChangeProviders(BasePermission):
    """A signed-in member of staff who may change providers."""

    def has_permission(self, request: Request, view: object) -> bool:
        return bool(request.user.is_staff and request.user.has_perm("providers.change_provider"))


class CheckReportSerializer(serializers.Serializer[Any]):
    ok = serializers.BooleanField()
    stage = serializers.CharField(help_text='where it failed: capacity, quota, auth, network, …; "" where it did not')
    code = serializers.CharField(help_text="as in error answers")
    headline = serializers.CharField()
    message = serializers.CharField(help_text="why it failed")
    facts = serializers.ListField(child=serializers.CharField())
    queue_ms = serializers.IntegerField()
    run_ms = serializers.IntegerField()
    models = serializers.ListField(child=serializers.CharField(), help_text="what a check found")
    said = serializers.CharField(help_text="what the model answered a test call")
    retry_after_ms = serializers.IntegerField(allow_null=True)


class TestCallSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(required=False, help_text="a public name; left out: the provider's first one")


class ConnectionView(APIView):
    """What both share: who may, and the two ways to answer."""

    authentication_classes = (SessionAuthentication,)
    permission_classes = (MayChangeProviders,)

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # not only DRF's own
        return problem_response(exc, Hearer(language=language_now()))

    def answer(self, request: Request, start: Callable[[], Run]) -> HttpResponseBase:
        """`start` is called on the event loop, where the coordinator lives: this view runs in a thread."""
        language = language_now()
        if LINES in request.META.get("HTTP_ACCEPT", ""):
            response: HttpResponseBase = StreamingHttpResponse(lines_of(start, language), content_type=LINES)
        else:
            response = Response(report_in_words(async_to_sync(_to_its_end)(start), language))
        response["Cache-Control"] = "no-store"
        return response


class ProviderCheck(ConnectionView):
    @extend_schema(
        operation_id="check_provider",
        summary="Check a provider's connection",
        request=None,
        responses=CheckReportSerializer,
    )
    def post(self, request: Request, slug: str) -> HttpResponseBase:
        if not Provider.objects.filter(slug=slug).exists():
            raise Http404
        language = language_now()
        return self.answer(request, lambda: get_relay().connections.check(slug, language))


class ProviderTestCall(ConnectionView):
    @extend_schema(
        operation_id="test_call_provider",
        summary="Send a tiny request to one of a provider's models",
        request=TestCallSerializer,
        responses=CheckReportSerializer,
    )
    def post(self, request: Request, slug: str) -> HttpResponseBase:
        model, language = _model_asked_for(slug, request), language_now()
        assert isinstance(request.user, User), "the permission let a signed-in user in"
        caller = caller_of_session(request.user)
        return self.answer(request, lambda: get_relay().connections.test_call(model, caller, language))


def language_now() -> str:
    """The language of the page the request comes from (LocaleMiddleware)."""
    language = (get_language() or "en")[:2]
    return language if language in LANGUAGES else "en"


async def lines_of(start: Callable[[], Run], language: str) -> AsyncIterator[bytes]:
    run = start()
    try:
        async with aclosing(run.progress()) as steps:
            async for progress in steps:
                yield _line(progress_in_words(progress, language))
    except Exception as error:  # noqa: BLE001  the 200 is out: a bug too is told as the last line
        yield _line(problem_frame(error, Hearer(language=language)))
    finally:
        run.left()


def progress_in_words(progress: Progress, language: str) -> dict[str, Any]:
    line: dict[str, Any] = {"type": str(progress.phase)}
    if progress.report is not None:
        return line | report_in_words(progress.report, language)
    return line | {"words": phase_words(progress, language)}


def _line(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document) + b"\n"


async def _to_its_end(start: Callable[[], Run]) -> CheckReport:
    return await start().report()


def _model_asked_for(slug: str, request: Request) -> str:
    """A public name. Raises `Http404` without such a provider, `InvalidRequest` without such a model that is on."""
    provider = Provider.objects.filter(slug=slug).first()
    if provider is None:
        raise Http404
    if not provider.enabled:
        raise InvalidRequest(_("The provider is off: enable it first. Its connection can be checked as it is."))
    models = Model.objects.filter(provider=provider, enabled=True)
    asked = TestCallSerializer(data=request.data)
    asked.is_valid(raise_exception=True)
    if name := asked.validated_data.get("model"):
        models = models.filter(public_name=name)
    model = models.first()
    if model is None:
        raise InvalidRequest(_("This provider has no such model that is on: add one first."), param="model")
    return model.public_name
