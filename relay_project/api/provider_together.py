"""`POST /api/providers/{slug}/together`: N code words sent to one model at the same moment, by a person.

The answer is the report. With `Accept: application/x-ndjson` it is a line of JSON at once and every second, each saying
in words where the trial stands, and the report last. Whoever leaves stops it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import msgspec
from asgiref.sync import async_to_sync
from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from providers.models import Model, Provider
from relay_project.api.provider_connection import LINES, ConnectionView, language_now
from relay_project.errors import InvalidRequest
from relay_project.loading import caller_of_session
from relay_project.rendering import Hearer, problem_frame
from relay_project.together.sending import Asked
from relay_project.together.trial import FEWEST, MOST, Report, Stage, Trial
from relay_project.together.words import report_words, stage_words
from relay_project.wiring import get_relay


class TogetherSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(help_text="a public name of this provider")
    count = serializers.IntegerField(min_value=FEWEST, max_value=MOST, help_text="calls at the same moment")


class TogetherCallSerializer(serializers.Serializer[Any]):
    word = serializers.CharField(help_text="the code word that was sent")
    said = serializers.CharField(help_text="what the model answered")
    waited = serializers.CharField()
    took = serializers.CharField()
    against = serializers.CharField(help_text="its time in multiples of one alone")
    verdict = serializers.CharField()
    tone = serializers.CharField(help_text="ready, wait or wrong")
    why = serializers.CharField(help_text="where there was no answer")


class TogetherReportSerializer(serializers.Serializer[Any]):
    ok = serializers.BooleanField(help_text="a number of lanes could be proposed")
    headline = serializers.CharField()
    facts = serializers.ListField(child=serializers.CharField())
    calls = TogetherCallSerializer(many=True)
    proposal = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField())
    proposed_lanes = serializers.IntegerField(allow_null=True)
    lanes = serializers.IntegerField(help_text="what may run at once on this model now")


class ProviderTogether(ConnectionView):
    @extend_schema(
        operation_id="try_together",
        summary="Send several code words to one model at the same moment",
        request=TogetherSerializer,
        responses=TogetherReportSerializer,
    )
    def post(self, request: Request, slug: str) -> HttpResponseBase:
        asked, language = _asked(slug, request), language_now()

        def trial() -> Trial:
            relay = get_relay()
            return Trial(relay.parts, relay.keeper.refresh, asked)

        if LINES in request.META.get("HTTP_ACCEPT", ""):
            response: HttpResponseBase = StreamingHttpResponse(lines_of(trial, language), content_type=LINES)
        else:
            response = Response(report_words(async_to_sync(_to_its_end)(trial)))
        response["Cache-Control"] = "no-store"
        return response


async def lines_of(trial: Callable[[], Trial], language: str) -> AsyncIterator[bytes]:
    try:
        async with aclosing(trial().progress()) as steps:
            async for step in steps:
                yield _line(step_in_words(step, language))
    except Exception as error:  # noqa: BLE001  the 200 is out: a bug too is told as the last line
        yield _line(problem_frame(error, Hearer(language=language)))


def step_in_words(step: Stage | Report, language: str) -> dict[str, Any]:
    with translation.override(language):
        if isinstance(step, Report):
            return {"type": "done"} | report_words(step)
        return {"type": "running", "words": stage_words(step)}


async def _to_its_end(trial: Callable[[], Trial]) -> Report:
    return await trial().report()


def _line(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document) + b"\n"


def _asked(slug: str, request: Request) -> Asked:
    """Raises `Http404` without such a provider, `InvalidRequest` without such a model that is on."""
    provider = Provider.objects.filter(slug=slug).first()
    if provider is None:
        raise Http404
    form = TogetherSerializer(data=request.data)
    form.is_valid(raise_exception=True)
    name = form.validated_data["model"]
    if not provider.enabled or not Model.objects.filter(provider=provider, public_name=name, enabled=True).exists():
        raise InvalidRequest(_("This provider, or a model of that name, is not there or is off."), param="model")
    assert isinstance(request.user, User), "the permission let a signed-in user in"
    return Asked(name, form.validated_data["count"], caller_of_session(request.user), language_now())
