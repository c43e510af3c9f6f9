"""The last day's usage rows of one provider, as calls that can be replayed.

A call that ran has its own time and tokens. One that was turned away for want of room would have run too, had there
been any: it borrows time and tokens from calls of its model that did run, in turn. Others are left out: what a
caller's own limit, a budget or a mistake stopped would be stopped again. The books do not hold the caps that callers
set; `reserve` says what they set aside, in multiples of the answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from accounts.models import UsageRow
from accounts.outcomes import Outcome
from scheduling.core.outcomes import Code
from scheduling.core.spec import Class
from scheduling.planner.replay import Recorded

MOST_CALLS = 20_000
LOOKED_BACK = timedelta(days=1)
MINUTE_US = 60_000_000
_RAN = frozenset(
    {
        Outcome.COMPLETED,
        Outcome.RECOVERED,
        Outcome.TRUNCATED,
        Outcome.EMPTY,
        Outcome.UPSTREAM_ERROR,
        Outcome.RUN_TIMEOUT,
        Outcome.CLIENT_GONE,
    }
)
_NO_ROOM = frozenset(
    {
        Code.GATEWAY_OVERLOADED,
        Code.PROVIDER_QUEUE_FULL,
        Code.PROVIDER_QUEUE_TIMEOUT,
        Code.QUEUE_EVICTED,
    }
)
_FIELDS = (
    *("created_at", "model", "user_id", "team_id", "token_id", "token__team_id", "klass", "outcome", "reason"),
    *("prompt_tokens", "completion_tokens", "run_ms", "refused_count"),
)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Arrivals:
    calls: tuple[Recorded, ...]  # in order of arrival, the first at 0
    since: datetime | None  # when the first came; None = there was none
    came: int  # in the whole day; more than `calls` where only the latest are replayed
    borrowed: int  # of `calls`: turned away then, so with the time of another


def load_arrivals(provider: str, models: Mapping[str, str], now: datetime, *, reserve: float = 1.0) -> Arrivals:
    """`models`: public name → key of those that are there now; calls of others cannot be replayed. Two queries."""
    rows = UsageRow.objects.filter(created_at__gte=now - LOOKED_BACK, provider=provider, model__in=list(models))
    rows = rows.exclude(purpose="probe")
    latest = list(rows.order_by("-created_at", "-pk").values(*_FIELDS)[:MOST_CALLS])
    came = len(latest) if len(latest) < MOST_CALLS else rows.count()
    asked = [row for row in reversed(latest) if _ran(row) or _had_no_room(row)]
    return _arrivals(asked, models, came, reserve)


def _arrivals(asked: Sequence[Row], models: Mapping[str, str], came: int, reserve: float) -> Arrivals:
    lenders = _Lenders(asked)
    if not asked or not lenders:
        return Arrivals((), None, came, 0)
    since: datetime = asked[0]["created_at"]
    calls: list[Recorded] = []
    borrowed = 0
    for row in asked:
        lender = row if _ran(row) else lenders.next_for(row["model"])
        moments = list(_moments(row, since))
        borrowed += 0 if _ran(row) else len(moments)
        calls += [_recorded(at_us, row, lender, models[row["model"]], reserve) for at_us in moments]
    calls.sort(key=lambda call: call.at_us)
    # Rejections that were counted in one row become many again: the bound holds for calls, not for rows.
    return Arrivals(tuple(calls[:MOST_CALLS]), since, max(came, len(calls)), borrowed)


class _Lenders:
    """Calls that ran, in turn: of the same model if there are any, else of the whole provider."""

    def __init__(self, rows: Iterable[Row]) -> None:
        ran = [row for row in rows if _ran(row)]
        of_model: dict[str, list[Row]] = {}
        for row in ran:
            of_model.setdefault(row["model"], []).append(row)
        self._any = itertools.cycle(ran)
        self._of_model = {model: itertools.cycle(rows) for model, rows in of_model.items()}
        self._there_are = bool(ran)

    def __bool__(self) -> bool:
        return self._there_are

    def next_for(self, model: str) -> Row:
        return next(self._of_model.get(model, self._any))


def _ran(row: Row) -> bool:
    return row["outcome"] in _RAN and row["run_ms"] > 0


def _had_no_room(row: Row) -> bool:
    return row["reason"] in _NO_ROOM


def _moments(row: Row, since: datetime) -> Iterator[int]:
    """When it came; rejections that share a row came somewhere in its minute, so evenly."""
    at_us = (row["created_at"] - since) // timedelta(microseconds=1)
    count = row["refused_count"]
    return (at_us + place * MINUTE_US // count for place in range(count))


def _recorded(at_us: int, row: Row, lender: Row, model: str, reserve: float) -> Recorded:
    completion_tokens = lender["completion_tokens"] or 0
    return Recorded(
        at_us=at_us,
        model=model,
        flow=_flow(row),
        limits=tuple(_limits(row)),
        klass=Class[row["klass"].upper()] if row["klass"] else Class.INTERACTIVE,
        prompt_tokens=(row["prompt_tokens"] if _ran(row) else lender["prompt_tokens"]) or 0,
        cap_tokens=round(completion_tokens * reserve),
        completion_tokens=completion_tokens,
        run_us=lender["run_ms"] * 1000,
    )


def _flow(row: Row) -> str:
    """The unit of fairness: a service token's team, else the user; the relay itself where there is neither."""
    if row["token__team_id"] is not None:
        return f"team:{row['token__team_id']}"
    return "relay" if row["user_id"] is None else f"user:{row['user_id']}"


def _limits(row: Row) -> Iterator[str]:
    for kind in ("user", "token", "team"):
        if row[f"{kind}_id"] is not None:
            yield f"{kind}:{row[f'{kind}_id']}"
