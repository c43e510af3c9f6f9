"""What a provider sent that may be a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """An answer as it came. Any value is allowed in any member: the reader is total.

    `vendor`: the provider's preset name ("openai", "gemini-code-assist", "codex-cli"); unknown names are read
    by the generic table. `status`: HTTP, None for command-line agents and sockets. `body`: bytes or text as
    received (JSON, event stream, JSON lines, HTML, anything) or already decoded JSON. `exit_code`: of a
    command-line agent. `local_zone`: the zone in which that agent's machine writes times ("UTC" where the
    relay sets TZ); "" = unknown.
    """

    vendor: str
    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = b""
    exit_code: int | None = None
    local_zone: str = ""
