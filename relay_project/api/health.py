"""Liveness and readiness, for supervisors and load balancers."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse

from relay_project.wiring import relay_state


async def healthz(request: HttpRequest) -> JsonResponse:
    """200 when requests can be served; 503 with the reason while starting, draining or stopped."""
    state = relay_state()
    return JsonResponse({"state": state}, status=200 if state == "ready" else 503)
