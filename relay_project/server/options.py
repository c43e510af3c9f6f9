"""What one server process is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
RenderRefusal = Callable[[Exception, str], HttpResponse]  # (our no, Accept-Language) → the answer


@dataclass(frozen=True, slots=True)
class ServerOptions:
    application: Application
    host: str
    port: int
    max_body_bytes: int  # of one request
    max_held_bytes: int  # of all requests being taken in by this process
    drain_limit_s: float  # how long running streams may go on after the first signal
    render_refusal: RenderRefusal
    ready: Callable[[], None]  # called once, when connections are accepted
