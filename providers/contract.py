"""What the relay and an adapter say to each other.

An adapter speaks one wire dialect. It turns a `ChatRequest` into an HTTP call, and what comes back into either a
`Refusal` (a value: the provider said no) or an `Answer` (bytes as they came, beside what a reader made of them).
Nothing here waits, logs or reads a clock.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


class RefusalKind(enum.StrEnum):
    """What a provider's no means (facts: provider-facts §0.2). `NONE` = not a refusal."""

    RATE_LIMITED = "rate_limited"  # brief: comes back by itself within a short window
    EXHAUSTED = "exhausted"  # used up until a reset that comes by itself (5 h, day, week, month)
    BILLING = "billing"  # needs money, a plan or an entitlement
    OVERLOADED = "overloaded"  # the provider has no capacity; not the caller's limit
    CONCURRENCY = "concurrency"  # parallel slots
    AUTH = "auth"
    CONTEXT_LENGTH = "context_length"
    BAD_REQUEST = "bad_request"
    CONTENT_FILTER = "content_filter"
    NOT_FOUND = "not_found"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    NONE = "none"


class RefusalScope(enum.StrEnum):
    """What the refused limit hangs on: a window, or a thing."""

    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    FIVE_HOUR = "five_hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    ACCOUNT = "account"
    MODEL = "model"
    REGION = "region"
    CONCURRENCY = "concurrency"
    REQUEST = "request"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The provider said no. `retry_after_s` is what *it* said (or what follows from its figures), None if unknown."""

    kind: RefusalKind
    scope: RefusalScope = RefusalScope.UNKNOWN
    retry_after_s: float | None = None
    reset_at: datetime | None = None  # aware, UTC; set where the provider named a moment
    limit_name: str = ""  # the provider's own name of the limit, e.g. a quotaId
    evidence: str = ""  # which piece of the answer decided, for the admin
    status: int | None = None  # HTTP status, None for faults below HTTP and for command-line agents
    code: str = ""  # the provider's own code
    message: str = ""  # the provider's own words, redacted of keys; shown to the caller
    safe_to_resend: bool = False  # the connection was stale: not one byte of the request was looked at
    limits: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)  # the headers it came with


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts by kind. None = the provider did not say (0 is a statement, None is not)."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class End(enum.StrEnum):
    """How an answer ended, judged by what was seen in it, never by the mere end of the bytes."""

    COMPLETE = "complete"  # a finish reason or a terminal event was seen
    RECOVERED = "recovered"  # complete, though an error signal came with it
    TRUNCATED = "truncated"  # bytes ended with neither
    ERROR = "error"  # an error event; `AnswerFacts.error` says which
    EMPTY = "empty"  # ended (however) without any content


@dataclass(slots=True)
class AnswerFacts:
    """What has been read so far from a copy of the bytes. Mutable: the reader adds to it."""

    content_seen: bool = False  # any text, reasoning, tool call, refusal text, audio …: real output
    content_chars: int = 0  # letters of output, for an estimate where usage is missing
    finish_reason: str = ""
    open_choices: set[int] = field(default_factory=set)  # have spoken and not finished; there may be several
    terminal_seen: bool = False  # e.g. `data: [DONE]`
    usage: Usage | None = None
    error: Refusal | None = None
    upstream_model: str = ""

    @property
    def end_was_said(self) -> bool:
        """For all of the answer: one choice of three that has finished is not the end."""
        return self.terminal_seen or bool(self.finish_reason and not self.open_choices)


class AnswerReader(Protocol):
    """Reads a copy of an answer incrementally. Pure: bytes in, facts and forwardable bytes out."""

    facts: AnswerFacts

    def feed(self, chunk: bytes) -> bytes:
        """Take one read; return the bytes to pass on (as they came, less what the caller did not ask for)."""

    def close(self) -> bytes:
        """No more bytes will come; return what is still to be sent (a held tail, a missing terminator)."""

    def end(self) -> End:
        """Judge the ending. Call after `close`."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A provider's key, unsealed, in memory only. Its repr never shows the key."""

    id: str
    label: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Target:
    """Where one attempt goes."""

    provider: str  # provider slug
    vendor: str  # preset key: which table of quirks and refusals applies
    base_url: str  # without trailing slash; the adapter appends its path
    model: str  # the upstream's own name
    credential: Credential | None
    headers: Mapping[str, str] = field(default_factory=dict)  # extra headers of the vendor preset


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The four clocks of a call, in seconds; None = not limited by this clock. The lease's run timeout is `total_s`."""

    connect_s: float = 10.0
    first_byte_s: float | None = None  # request sent → first byte of the answer's head
    idle_s: float | None = None  # between two reads of the body
    total_s: float | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A caller's request: the bytes as sent, and a decoded view for reading only."""

    body: bytes
    fields: Mapping[str, Any]
    stream: bool
    wants_usage_chunk: bool  # the caller itself asked for stream_options.include_usage
    cap_tokens: int | None = None  # put in place of the caller's own larger caps; None = they go as they are


@dataclass(slots=True)
class Answer:
    """An upstream answer in progress. Whoever holds it must `close()` it, which is synchronous and idempotent."""

    status: int
    headers: Sequence[tuple[str, str]]  # those that may be passed to the caller, lower-case names
    chunks: AsyncIterator[bytes]  # one item per network read; raises UpstreamFault
    reader: AnswerReader
    close: Any  # Callable[[], None]; cuts the connection unless the answer was read to its end
    limits: Mapping[str, str] = field(default_factory=dict)  # all its headers, for `quota_headers`: never passed on


class UpstreamFault(Exception):
    """A fault below or inside HTTP while reading an answer, already translated.

    `safe_to_resend`: the server had closed a kept-open connection before it read the request.
    """

    def __init__(self, refusal: Refusal, *, safe_to_resend: bool = False) -> None:
        super().__init__(refusal.evidence or refusal.kind)
        self.refusal = refusal
        self.safe_to_resend = safe_to_resend


class Adapter(Protocol):
    """One wire dialect."""

    dialect: str

    async def chat(self, target: Target, request: ChatRequest, deadlines: Deadlines) -> Answer | Refusal:
        """Send one request; return once the answer's head is there, or the refusal it was."""

    async def list_models(self, target: Target, deadlines: Deadlines) -> list[str] | Refusal:
        """The upstream's own model names (connection check)."""
