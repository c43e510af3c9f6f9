"""A caller's request as the use case takes it, and what it gives back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from relay_project.api.chat_request import ParsedChat, asked_class, asked_wait_us, check_encoding, parse_chat
from relay_project.errors import InvalidRequest
from relay_project.rendering import Hearer
from relay_project.snapshot import Caller
from scheduling.core.spec import Class
from scheduling.watching import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What arrived at the edge; not yet read, so that a request that cannot be read leaves its row too."""

    caller: Caller
    hearer: Hearer  # dialect, language and request id of all that is answered
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)  # lower-case names
    purpose: str = "call"  # call | test | chat
    klass: Class | None = None  # set by the relay's own calls; else from the headers
    watch: Watch | None = None  # is shown where the call stands while it waits in line

    @property
    def id(self) -> str:
        return self.hearer.request_id

    def parse(self) -> ParsedChat:
        check_encoding(self.headers.get("content-encoding"))
        return parse_chat(self.body)

    def wants_stream(self) -> bool:
        """A request that cannot be read wants none."""
        try:
            return self.parse().request.stream
        except InvalidRequest:
            return False

    def wanted_class(self, parsed: ParsedChat) -> Class:
        if self.klass is not None:
            return self.klass
        return asked_class(self.headers.get("x-relay-class"), parsed.request.fields, self.caller.class_cap)

    def max_wait_us(self) -> int | None:
        return asked_wait_us(self.headers.get("x-relay-max-wait-ms"))


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a caller. `stream` yields bytes as they come and owns what is held until it ends or is closed."""

    status: int
    headers: list[tuple[str, str]]
    stream: AsyncIterator[bytes]
    whole: bytes | None = None  # all of it, where it has come already; `stream` then holds nothing any more
