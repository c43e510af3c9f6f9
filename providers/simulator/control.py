"""The simulator's own endpoints, under `/_`: what arrived, what comes next, and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from providers.simulator.limits.book import Reading
from providers.simulator.plan import Reply, json_reply
from providers.simulator.provider import SimulatedProvider
from providers.simulator.request import Request

Endpoint = Callable[[SimulatedProvider, Request], Any]


def control(provider: SimulatedProvider, request: Request) -> Reply:
    """200 with what the endpoint returns; 400 for a body it cannot take; 404 with the endpoints there are."""
    endpoint = ENDPOINTS.get((request.method, request.path))
    if endpoint is None:
        known = [f"{method} {path}" for method, path in ENDPOINTS]
        return json_reply(404, {"error": f"no {request.method} {request.path} here", "endpoints": known})
    try:
        return json_reply(200, endpoint(provider, request))
    except ValueError as error:
        return json_reply(400, {"error": str(error)})


def _arrivals(provider: SimulatedProvider, request: Request) -> dict[str, Any]:
    model = request.query.get("model", [None])[0]
    return {**provider.journal.report(model), "now_us": provider.now_us()}


def _reset(provider: SimulatedProvider, request: Request) -> dict[str, Any]:
    provider.reset()
    return {"reset": True}


def _limits(provider: SimulatedProvider, request: Request) -> dict[str, Any]:
    model = request.query.get("model", [""])[0]
    return {
        "style": provider.style_name,
        **asdict(provider.limits.ceilings),
        **asdict(provider.limits.rules),
        "readings": [_reading(reading) for reading in provider.readings(model)],
    }


def _change_limits(provider: SimulatedProvider, request: Request) -> dict[str, Any]:
    provider.change_limits(_object(request))
    return _limits(provider, request)


def _script(provider: SimulatedProvider, request: Request) -> dict[str, Any]:
    return {"script": provider.script.report()}


def _add_to_script(provider: SimulatedProvider, request: Request) -> dict[str, Any]:
    document = request.document
    for scene in document if isinstance(document, list) else [document]:
        provider.script.add(scene)
    return _script(provider, request)


def _faults(provider: SimulatedProvider, request: Request) -> dict[str, Any]:
    return {"faults": dict(provider.faults)}


def _object(request: Request) -> dict[str, Any]:
    if not isinstance(request.document, dict):
        raise ValueError("expected a JSON object")
    return request.document


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "name": reading.limit.name,
        "limit": reading.ceiling,
        "used": reading.used,
        "remaining": reading.remaining,
        "wait_us": reading.wait_us,
    }


ENDPOINTS: Mapping[tuple[str, str], Endpoint] = {
    ("GET", "/_arrivals"): _arrivals,
    ("POST", "/_reset"): _reset,
    ("GET", "/_limits"): _limits,
    ("POST", "/_limits"): _change_limits,
    ("GET", "/_script"): _script,
    ("POST", "/_script"): _add_to_script,
    ("GET", "/_faults"): _faults,
}
