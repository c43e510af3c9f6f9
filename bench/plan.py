"""What is measured, and what one measurement brings back. Plain values that travel between processes as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

STREAMS_AT_ONCE = 64
CHUNKS_PER_STREAM = 25
CHUNK_EVERY_MS = 20


@dataclass(frozen=True, slots=True)
class Load:
    """A closed loop: so many callers, each sending its next request when its answer is complete."""

    at_once: int
    stream: bool = False
    chunks: int = 0  # of one stream
    every_ms: int = 0  # between two chunks of a stream

    @property
    def name(self) -> str:
        return f"{'streams' if self.stream else 'whole answers'}, {self.at_once} at once"


LOADS = (
    Load(1),
    Load(16),
    Load(64),
    Load(1, stream=True, chunks=CHUNKS_PER_STREAM, every_ms=CHUNK_EVERY_MS),
    Load(STREAMS_AT_ONCE, stream=True, chunks=CHUNKS_PER_STREAM, every_ms=CHUNK_EVERY_MS),
)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured."""

    rounds: int  # at most
    seconds: float  # of one measurement
    within_s: float  # all rounds together; the rest of a run takes about 40 s


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where a variant is called: always POST, on the loopback address."""

    port: int
    model: str
    path: str = "/v1/chat/completions"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Errand:
    """All the load tool is told."""

    entrance: Entrance
    load: Load
    seconds: float  # after that nobody begins anew; what runs is waited for


@dataclass(frozen=True, slots=True)
class Spread:
    p50_us: float
    p99_us: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What the callers saw."""

    answers: int  # complete ones
    answers_per_s: float  # within the time, as `chunks_per_s`
    chunks: int
    chunks_per_s: float
    whole: Spread  # request sent → last byte
    first_token: Spread | None = None  # streams: request sent → first content
    chunk_delay: Spread | None = None  # streams: sent by the upstream → read by the caller
    failed: int = 0
    failure: str = ""  # the first one's own words


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement of one variant in one round."""

    heard: Heard
    cpu_us: float | None  # user and system time of the server process; None: there is none
