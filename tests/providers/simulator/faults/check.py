"""Where the checks register, and how they look at an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.providers.simulator.upstream import Upstream, Wire

Check = Callable[[Upstream], Awaitable[None]]
CHECKS: dict[str, Check] = {}
ECHO = "3 words: say CODE-7 북경😀"


def shows(fault: str) -> Callable[[Check], Check]:
    """The decorated check is the one of `fault`."""

    def keep(check: Check) -> Check:
        assert CHECKS.setdefault(fault, check) is check, f"two checks of {fault}"
        return check

    return keep


def text_of(events: list[Any]) -> str:
    return "".join(delta_of(event).get("content") or "" for event in events)


def delta_of(event: Any) -> dict[str, Any]:
    choices = event.get("choices") if isinstance(event, dict) else None
    return choices[0].get("delta", {}) if choices else {}


def finish_of(events: list[Any]) -> list[str]:
    choices = [event["choices"][0] for event in events if isinstance(event, dict) and event.get("choices")]
    return [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]


async def stream(upstream: Upstream, fault: str, **fields: Any) -> Wire:
    return await upstream.wire(f"sim-small;fault={fault}", stream=True, **fields)


async def whole(upstream: Upstream, fault: str, **fields: Any) -> httpx.Response:
    return await upstream.post(f"sim-small;fault={fault}", **fields)
