"""What a scenario says, as its TOML file says it. Field names are the file's; times in seconds; docs/planner.md.

A *range* is a figure, or `[from, to]` for anything between the two, evenly spread.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from scheduling.core.spec import ChargeRule, FairBy, Measure, OnBriefRefusal

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
# Not tuple[X, X]: msgspec 0.23 reads past its table for a fixed tuple beside a number with bounds.
Range = NotNegative | Annotated[tuple[NotNegative, ...], Meta(min_length=2, max_length=2)]
WholeRange = Whole | Annotated[tuple[Whole, ...], Meta(min_length=2, max_length=2)]


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file: a field it does not know is an error, not a wish that is silently ignored."""


class Limit(Table, frozen=True):
    """One limit as the provider counts it."""

    measure: Literal["requests", "tokens"]
    limit: Count
    window: Literal["fixed", "sliding"] = "fixed"
    window_s: Positive = 60
    slice_s: Positive | None = None  # requests: also judged in fixed slices of that length, each with its share

    def __post_init__(self) -> None:
        if self.slice_s is not None and (self.measure != "requests" or self.slice_s >= self.window_s):
            raise ValueError("slice_s: only for requests, and shorter than window_s")


class Change(Table, frozen=True):
    """From `at_s` on every limit is `factor` times what was written, without notice."""

    at_s: NotNegative
    factor: Positive


class Provider(Table, frozen=True):
    limits: list[Limit]
    charge: Literal["prompt_plus_max", "max_of", "prompt"] = "prompt_plus_max"  # tokens, at arrival
    refunds: bool = False  # gives unused tokens back at the end
    counts_refused: bool = True  # a refused call counts as a request (never as tokens)
    retry_after: Literal["exact", "whole_seconds", "none"] = "exact"
    wire_s: Range = 0  # from sending to being judged
    refusal_s: Range = 0  # from being judged to knowing of the no
    changes: list[Change] = field(default_factory=list)


class Turns(Table, frozen=True, kw_only=True):
    """What one job does, turn after turn: the next begins when the last has ended."""

    prompt_tokens: list[Count]  # one for each turn; a list shorter than `turns` begins again
    turns: Count | None = None  # default: as many as there are prompts
    answer_tokens: WholeRange = 300
    max_tokens: Count = 4096
    first_token_s: Range = 0
    turn_s: Range
    streams: bool = False


class Bursts(Turns, frozen=True, kw_only=True, tag_field="arrive", tag="bursts"):
    """Open: `jobs` at once, every `every_s`, `bursts` times, however far the ones before have come."""

    jobs: Count
    bursts: Count
    every_s: Positive = 60
    users: Count = 1


class Crowd(Turns, frozen=True, kw_only=True, tag_field="arrive", tag="crowd"):
    """Closed: `clients` join evenly over `joining_s`; each asks only when it has its answer."""

    clients: Count
    joining_s: NotNegative = 0
    users: Count = 1


class Arrival(Table, frozen=True, kw_only=True):
    """One call as it once came, and how long it took."""

    at_s: NotNegative
    user: Annotated[str, Meta(min_length=1)] = "user:1"
    prompt_tokens: Count
    answer_tokens: Whole = 300
    first_token_s: NotNegative = 0
    turn_s: NotNegative


class Replay(Table, frozen=True, kw_only=True, tag_field="arrive", tag="replay"):
    """Open: calls that are given one by one, each a job of its own."""

    arrivals: Annotated[list[Arrival], Meta(min_length=1)]
    max_tokens: Count = 4096
    streams: bool = False


class Retry(Table, frozen=True):
    """What a caller does who is refused: it waits `first_s`, then that times `growth` each time, up to `longest_s`."""

    first_s: NotNegative = 0.5
    growth: Annotated[float, Meta(ge=1)] = 2
    longest_s: Positive = 60
    jitter: bool = True  # waits anything from nothing to that, evenly spread
    honours_retry_after: bool = False  # waits as long as it was told, and its own wait on top
    times: Whole | None = None  # then the job is dead; default: never gives up


class Window(Table, frozen=True):
    """A window that the relay keeps, where it does not simply believe the provider's own figures."""

    measure: Measure
    limit: Count
    window_s: Positive = 60
    slice_s: Positive | None = None


class Profile(Table, frozen=True):
    """The relay's lane profile. Its windows are the provider's limits, unless they are given here."""

    lanes: Count = 1_000
    lanes_per_model: Count | None = None
    max_waiting: Whole = 10_000
    wait_timeout_s: Positive = 3_600
    burst: Count = 1
    guard_ms: Whole = 50
    charge_rule: ChargeRule = ChargeRule.PROMPT_PLUS_MAX
    fair_by: FairBy = FairBy.USER
    on_brief_refusal: OnBriefRefusal = OnBriefRefusal.WAIT_ONCE
    adaptive: bool = False
    answer_cap: bool = False
    answer_cap_streams: bool = False
    windows: list[Window] | None = None


class Recorded(Table, frozen=True):
    """Answers the relay has seen of each user before the beginning."""

    count: Whole = 0
    tokens: WholeRange = 300


Work = Bursts | Crowd | Replay


class Row(Table, frozen=True):
    """One way to do the same work. `work` and `profile` change single fields of the file's tables for this row."""

    row: Annotated[str, Meta(min_length=1)]
    client: str = ""
    goes: Literal["direct", "gate", "relay"] = "direct"
    retry: Retry = field(default_factory=Retry)
    work: dict[str, Any] = field(default_factory=dict)
    profile: dict[str, Any] = field(default_factory=dict)
    recorded: Recorded = field(default_factory=Recorded)


class File(Table, frozen=True, kw_only=True):
    """The whole file."""

    name: Annotated[str, Meta(min_length=1)]
    title: str
    about: str = ""
    seed: int = 1
    stops_s: Positive = 14_400  # the end, whoever is still at it; else it ends with the last job
    provider: Provider
    work: dict[str, Any]
    profile: dict[str, Any] = field(default_factory=dict)
    rows: Annotated[list[Row], Meta(min_length=1)]
