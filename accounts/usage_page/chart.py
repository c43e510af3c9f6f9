"""Counts into a picture: stacked bars as plain SVG figures, drawn on the server, so that no script is needed.

Heights are in thousandths of the picture, widths in hundredths of a slot: the SVG is stretched to its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.usage_page.period import Period
from accounts.usage_page.words import a_number

HEIGHT = 1000
SLOT = 100
MOST_ROLES = 5  # further ones are drawn together
OTHERS = "\0others"

Counts = Mapping[tuple[datetime, str], int]  # requests by slot start and role


@dataclass(frozen=True, slots=True)
class Block:
    y: int
    height: int
    series: int  # 1-based; the colour


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    label: str  # under the bar; empty under most
    when: str  # the slot in words
    counts: list[str]  # per series, for the table
    total: str
    title: str  # said on hover
    blocks: list[Block]


@dataclass(frozen=True, slots=True)
class Chart:
    series: list[str]
    bars: list[Bar]
    ticks: list[str]  # from the top down
    width: int


def draw_chart(counts: Counts, starts: Sequence[datetime], period: Period) -> Chart:
    roles = _pick_roles(counts)
    table = [_slot_counts(counts, start, roles) for start in starts]
    top = _round_up(max((sum(slot) for slot in table), default=0))
    bars = [_bar(number, start, table[number], roles, top, period) for number, start in enumerate(starts)]
    ticks = [a_number(top), a_number(top // 2), "0"]
    return Chart([role_name(role) for role in roles], bars, ticks, SLOT * len(starts))


def role_name(role: str) -> str:
    if role == OTHERS:
        return _("other roles")
    return role or _("by model name")


def _pick_roles(counts: Counts) -> list[str]:
    """The most used ones, in the order of their names, so that a role keeps its colour from period to period."""
    totals: Counter[str] = Counter()
    for (_start, role), requests in counts.items():
        totals[role] += requests
    ranked = [role for role, _total in sorted(totals.items(), key=lambda item: (-item[1], item[0]))]
    shown = ranked if len(ranked) <= MOST_ROLES + 1 else ranked[:MOST_ROLES]
    in_order = sorted(shown, key=lambda role: (role == "", role))
    return in_order if shown is ranked else [*in_order, OTHERS]


def _slot_counts(counts: Counts, start: datetime, roles: Sequence[str]) -> list[int]:
    slot = {role: requests for (begins, role), requests in counts.items() if begins == start}
    known = [slot.pop(role, 0) for role in roles if role != OTHERS]
    return [*known, sum(slot.values())] if OTHERS in roles else known


def _bar(number: int, start: datetime, counts: Sequence[int], roles: Sequence[str], top: int, period: Period) -> Bar:
    when = _in_words(start, period)
    parts = [f"{role_name(role)} {a_number(count)}" for role, count in zip(roles, counts, strict=True) if count]
    labelled = (period.slots - 1 - number) % period.label_every == 0
    return Bar(
        x=number * SLOT,
        label=date_format(start, str(period.label_format)) if labelled else "",
        when=when,
        counts=[a_number(count) for count in counts],
        total=a_number(sum(counts)),
        title=": ".join([when, ", ".join(parts) or _("nothing")]),
        blocks=_stack(counts, top),
    )


def _stack(counts: Sequence[int], top: int) -> list[Block]:
    blocks, below = [], 0
    for series, count in enumerate(counts, start=1):
        y_from, y_to = (HEIGHT - HEIGHT * part // top for part in (below, below + count))
        if count:
            blocks.append(Block(y_to, y_from - y_to, series))
        below += count
    return blocks


def _in_words(start: datetime, period: Period) -> str:
    if period.unit == "day":
        return date_format(start, "DATE_FORMAT")
    return f"{date_format(start, 'H:i')}–{date_format(start + timedelta(hours=1), 'H:i')}"


def _round_up(count: int) -> int:
    """The next 2, 4, 6, 10, 20, 40 …: a top whose half is whole, too."""
    scale = 1
    while True:
        for step in (2, 4, 6, 10):
            if count <= step * scale:
                return step * scale
        scale *= 10
