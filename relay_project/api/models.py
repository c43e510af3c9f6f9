"""`GET /v1/models` and `/v1/models/{id}`: roles and models by their public names, and whether they can be used now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from relay_project.api.authentication import MayListModels, PersonalTokenAuthentication
from relay_project.errors import NoSuchModel
from relay_project.rendering import Hearer, language_of, problem_response
from relay_project.snapshot import Configuration, ModelEntry
from relay_project.wiring import get_relay
from scheduling.core.snapshot import ModelView, ProviderView, QueueSnapshot


class ModelSerializer(serializers.Serializer[Any]):
    """OpenAI's model object, with what the relay knows."""

    id = serializers.CharField()
    object = serializers.CharField(help_text='"model"')
    created = serializers.IntegerField()
    owned_by = serializers.CharField(help_text='provider key, or "relay" for a role')
    available = serializers.BooleanField(help_text="can a request start now, or wait for its turn")
    closed_until = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_null=True, help_text="why it is not available")
    context_window = serializers.IntegerField(allow_null=True)
    max_output = serializers.IntegerField(allow_null=True)
    candidates = serializers.ListField(child=serializers.CharField(), required=False)


class ModelListSerializer(serializers.Serializer[Any]):
    object = serializers.CharField(help_text='"list"')
    data = ModelSerializer(many=True)  # type: ignore[assignment]  # a field named as a property of its class


class ModelsView(APIView):
    """Shared by the list and the single model."""

    authentication_classes = (PersonalTokenAuthentication, SessionAuthentication)
    permission_classes = (MayListModels,)

    def handle_exception(self, exc: Exception) -> Any:
        return problem_response(exc, Hearer(language=language_of(self.request.META.get("HTTP_ACCEPT_LANGUAGE", ""))))

    def listed(self) -> list[dict[str, Any]]:
        return list(_all(get_relay().configuration, _Availability(async_to_sync(_picture)())))


class ModelList(ModelsView):
    @extend_schema(operation_id="list_models", responses=ModelListSerializer)
    def get(self, request: Request) -> Response:
        return Response({"object": "list", "data": self.listed()})


class ModelDetail(ModelsView):
    @extend_schema(
        operation_id="retrieve_model",
        responses={200: ModelSerializer, 404: OpenApiResponse(description="no such model")},
    )
    def get(self, request: Request, name: str) -> Response:
        for model in self.listed():
            if model["id"] == name:
                return Response(model)
        raise NoSuchModel(name)


async def _picture() -> QueueSnapshot:
    """Taken on the event loop, where the coordinator lives: the views run in threads."""
    return get_relay().coordinator.snapshot()


class _Availability:
    """Reads one picture of the lanes: model key → (available, closed until, reason)."""

    def __init__(self, snapshot: QueueSnapshot) -> None:
        self._now = datetime.fromtimestamp(snapshot.at_wall_ms / 1000, UTC)
        self._providers = {view.key: view for view in snapshot.providers}
        self._models = {model.key: model for view in snapshot.providers for model in view.models}

    def of(self, model: ModelEntry) -> dict[str, Any]:
        reason = self._reason(self._providers.get(model.provider), self._models.get(model.key))
        view = self._models.get(model.key)
        until = None if view is None or view.closed_until_ms is None else view.closed_until_ms
        closed_until = None if until is None else self._now + timedelta(milliseconds=until)
        return {"available": reason is None, "closed_until": closed_until, "reason": reason}

    @staticmethod
    def _reason(provider: ProviderView | None, model: ModelView | None) -> str | None:
        if provider is None or provider.profile_missing or model is None:
            return "lane_profile_missing"
        if provider.paused or model.paused:
            return "paused"
        if model.closed_until_ms is not None:
            return model.closed_reason or "closed"
        return None


def _all(configuration: Configuration, availability: _Availability) -> Iterator[dict[str, Any]]:
    for role in configuration.roles.values():
        models = [configuration.models[key] for key in role.candidates if key in configuration.models]
        yield _role_object(role.name, [model for model in models if model.enabled], availability)
    for model in configuration.models.values():
        if model.enabled:
            yield _model_object(model, availability)


def _model_object(model: ModelEntry, availability: _Availability) -> dict[str, Any]:
    return {
        "id": model.public_name,
        "object": "model",
        "created": model.created_s,
        "owned_by": model.provider,
        **availability.of(model),
        "context_window": model.context_window,
        "max_output": model.max_output,
    }


def _role_object(name: str, models: list[ModelEntry], availability: _Availability) -> dict[str, Any]:
    """A role is available while one candidate is; else it comes back when the first does."""
    states = [availability.of(model) for model in models]
    open_states = [state for state in states if state["available"]]
    times = [state["closed_until"] for state in states if state["closed_until"] is not None]
    reasons = [state["reason"] for state in states]
    return {
        "id": name,
        "object": "model",
        "created": min((model.created_s for model in models), default=0),
        "owned_by": "relay",
        "available": bool(open_states),
        "closed_until": None if open_states or not times else min(times),
        "reason": None if open_states else (reasons[0] if reasons else "no_candidates"),
        "context_window": min((model.context_window for model in models if model.context_window), default=None),
        "max_output": min((model.max_output for model in models if model.max_output), default=None),
        "candidates": [model.public_name for model in models],
    }
