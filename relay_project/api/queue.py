"""`GET /api/queue`: the picture of lanes and lines, once (docs/queue-api.md). Live: `/ws/queue`."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from relay_project.api.authentication import PersonalTokenAuthentication
from relay_project.api.queue_feed import Picture, process_feed
from relay_project.api.queue_rendering import Viewer
from relay_project.api.queue_schema import QueuePictureSerializer
from relay_project.api.queue_viewers import QUEUE_SCOPE, viewer_of_token, viewer_of_user
from relay_project.errors import NotAllowed
from relay_project.rendering import Hearer, language_of, problem_response
from relay_project.snapshot import Caller


class MayWatchQueue(BasePermission):
    """A signed-in browser session, or a personal token with the scope `queue`."""

    def has_permission(self, request: Request, view: object) -> bool:
        if isinstance(request.user, Caller):
            if QUEUE_SCOPE not in request.user.scopes:
                raise NotAllowed
            return True
        return bool(request.user and request.user.is_authenticated)


class QueueView(APIView):
    authentication_classes = [PersonalTokenAuthentication, SessionAuthentication]
    permission_classes = [MayWatchQueue]

    @extend_schema(
        operation_id="queue",
        summary="Lanes, lines and your own tickets",
        responses=QueuePictureSerializer,
    )
    def get(self, request: Request) -> Response:
        response = Response(current_picture().as_dict(viewer_of_request(request)))
        response["Cache-Control"] = "no-store"
        return response

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # not only DRF's own
        return problem_response(exc, Hearer(language=language_of(self.request.headers.get("accept-language", ""))))


def current_picture() -> Picture:
    """Made on the event loop, where the coordinator lives: this view runs in a thread."""
    return async_to_sync(_current_picture)()


async def _current_picture() -> Picture:
    return process_feed().current()


def viewer_of_request(request: Request) -> Viewer:
    if isinstance(request.user, Caller):
        return viewer_of_token(request.user)
    return viewer_of_user(request.user)
