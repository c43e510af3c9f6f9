"""`/queue/`: the tollgate, drawn as one and live. The page is drawn by static/relay/js/queue.js from a
picture.
"""

from __future__ import annotations

import structlog
from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from providers.models import Provider
from relay_project.api.queue import current_picture
from relay_project.api.queue_rendering import Viewer
from relay_project.api.queue_viewers import viewer_of_user
from relay_project.pages.queue_words import queue_words
from relay_project.wiring import get_relay

log = structlog.get_logger(__name__)

MOST_OWNERS = 1000  # names sent along with the page; further owners are shown by number


@require_GET
@never_cache
@login_required
def queue_page(request: HttpRequest) -> HttpResponse:
    viewer = viewer_of_user(request.user)
    context = {
        "picture": current_picture().as_dict(viewer),
        "words": queue_words(),
        "tokens_url": _admin_list(viewer, "accounts_personaltoken_changelist"),
        "quota_url": _admin_list(viewer, "scheduling_quotastate_changelist"),
        "owners": _owner_names() if viewer.staff else {},
    }
    return render(request, "relay/queue.html", context)


@require_POST
@login_required
def cancel_ticket(request: HttpRequest, ticket_id: str) -> JsonResponse:
    """Take a ticket out of line. 404 when it stands in none: it has started, or its caller has left."""
    _staff_only(request)
    cancelled = async_to_sync(_take_out_of_line)(ticket_id)
    log.info("ticket cancelled by hand", ticket=ticket_id, by=request.user.pk, found=cancelled)
    return JsonResponse({"cancelled": cancelled}, status=200 if cancelled else 404)


async def _take_out_of_line(ticket_id: str) -> bool:
    """False, and nothing touched, when it does not wait: a request that runs is not stopped by this."""
    relay = get_relay()
    # No await between looking and cancelling: one event loop, so it cannot start in between.
    if all(row.id != ticket_id for row in relay.coordinator.snapshot().tickets):
        return False
    await relay.cancel_ticket(ticket_id)
    return True


@require_GET
@login_required
def provider_lanes(request: HttpRequest, slug: str) -> HttpResponse:
    """To the provider's lane profile in the admin, or to the provider itself where none is chosen yet."""
    _staff_only(request)
    provider = get_object_or_404(Provider, slug=slug)
    if provider.lane_profile_id is None:
        return redirect("admin:providers_provider_change", provider.pk)
    return redirect("admin:scheduling_laneprofile_change", provider.lane_profile_id)


def _staff_only(request: HttpRequest) -> None:
    if not request.user.is_staff:
        raise PermissionDenied


def _admin_list(viewer: Viewer, name: str) -> str:
    return reverse(f"admin:{name}") if viewer.staff else ""


def _owner_names() -> dict[str, str]:
    """Owner, as in a ticket → the name to show."""
    return {f"user:{pk}": name for pk, name in User.objects.values_list("pk", "username")[:MOST_OWNERS]}
