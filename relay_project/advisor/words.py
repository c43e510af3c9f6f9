"""Advice in sentences: what does not fit, with its figures, and what helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.usage_page.words import a_number
from relay_project.advisor.rules import Advice, Rule
from relay_project.connection_words import STAGES

CONCURRENCY = "concurrency"

_MEASURES: Mapping[str, Promise] = {
    "requests": gettext_lazy("%(count)s requests"),
    "input_tokens": gettext_lazy("%(count)s input tokens"),
    "output_tokens": gettext_lazy("%(count)s output tokens"),
    "total_tokens": gettext_lazy("%(count)s tokens"),
    CONCURRENCY: gettext_lazy("%(count)s at once"),
}
_STRETCHES: Mapping[int, Promise] = {
    1: gettext_lazy("%(amount)s a second"),
    60: gettext_lazy("%(amount)s a minute"),
    3_600: gettext_lazy("%(amount)s an hour"),
    86_400: gettext_lazy("%(amount)s a day"),
}


def sentence(advice: Advice) -> str:
    """In the language that is active now."""
    return _SENTENCES[advice.rule](dict(advice.figures))


def a_limit(measure: str, count: int, window_s: int) -> str:
    """`30,000 tokens a minute`; without a stretch (0) `4 at once`."""
    amount = str(_MEASURES[measure]) % {"count": a_number(count)}
    if not window_s:
        return amount
    stretch = _STRETCHES.get(window_s) or gettext_lazy("%(amount)s in %(seconds)s s")
    return str(stretch) % {"amount": amount, "seconds": a_number(window_s)}


def seconds_of(milliseconds: int) -> str:
    """Whole seconds from ten on, tenths below."""
    return a_number(milliseconds / 1000, 0 if milliseconds >= 10_000 else 1)


def _profile_missing(figures: dict[str, Any]) -> str:
    return _("%(name)s has no lane profile, so none of its calls start: give it one.") % figures


def _connection_failed(figures: dict[str, Any]) -> str:
    stage = str(STAGES.get(figures["stage"], figures["stage"]))
    if not stage:
        return _("%(name)s: the last connection check failed. Check it again.") % figures
    text = _("%(name)s: the last connection check failed (%(stage)s). %(reason)s") % (figures | {"stage": stage})
    return text.strip()


def _never_checked(figures: dict[str, Any]) -> str:
    return _("%(name)s: its connection has never been checked. Check it.") % figures


def _run_below_adapter(figures: dict[str, Any]) -> str:
    return (
        _(
            "%(name)s: the relay stops a call after %(run_s)s s, but its adapter gives up only after %(cap_s)s s: "
            "set run_timeout_s above %(cap_s)s, so that the adapter, which knows why, speaks first."
        )
        % figures
    )


def _run_below_upstream(figures: dict[str, Any]) -> str:
    words = ngettext(
        "%(name)s: %(stopped)s of %(calls)s calls was stopped at the run limit of %(run_s)s s while the provider "
        "was still at work: raise run_timeout_s.",
        "%(name)s: %(stopped)s of %(calls)s calls were stopped at the run limit of %(run_s)s s while the provider "
        "was still at work: raise run_timeout_s.",
        figures["stopped"],
    )
    return words % figures


def _line_gives_up_before_calls(figures: dict[str, Any]) -> str:
    words = ngettext(
        "%(name)s: 95 %% of calls take up to %(run)s s, the line gives up after %(wait_s)s s with %(lanes)s lane: "
        "raise wait_timeout_s or lanes.",
        "%(name)s: 95 %% of calls take up to %(run)s s, the line gives up after %(wait_s)s s with %(lanes)s lanes: "
        "raise wait_timeout_s or lanes.",
        figures["lanes"],
    )
    return words % (figures | {"run": seconds_of(figures["run_ms"])})


def _line_gives_up_before_check(figures: dict[str, Any]) -> str:
    words = ngettext(
        "%(name)s: the last connection check took %(check)s s, the line gives up after %(wait_s)s s with "
        "%(lanes)s lane: whoever waits behind a check may be refused. Raise wait_timeout_s or lanes.",
        "%(name)s: the last connection check took %(check)s s, the line gives up after %(wait_s)s s with "
        "%(lanes)s lanes: whoever waits behind a check may be refused. Raise wait_timeout_s or lanes.",
        figures["lanes"],
    )
    return words % (figures | {"check": seconds_of(figures["check_ms"])})


def _limit_lowered(figures: dict[str, Any]) -> str:
    said = {
        "name": figures["name"],
        "learned": a_limit(figures["measure"], figures["learned"], figures["window_s"]),
        "configured": a_limit(figures["measure"], figures["configured"], figures["window_s"]),
    }
    return (
        _(
            "%(name)s: the provider has lowered your limit for now: %(learned)s, where the profile says "
            "%(configured)s. The lower one rules; asking for quota will not help."
        )
        % said
    )


def _caps_reserve_too_much(figures: dict[str, Any]) -> str:
    words = _(
        "%(name)s: callers' max_tokens reserve %(times)s × what their answers use, so the token limit is full "
        "before it is used: let them ask for less, or turn on “cap answer length”."
    )
    return words % (figures | {"times": a_number(figures["times"], 1)})


_SENTENCES: Mapping[Rule, Callable[[dict[str, Any]], str]] = {
    Rule.PROFILE_MISSING: _profile_missing,
    Rule.CONNECTION_FAILED: _connection_failed,
    Rule.NEVER_CHECKED: _never_checked,
    Rule.RUN_BELOW_ADAPTER: _run_below_adapter,
    Rule.RUN_BELOW_UPSTREAM: _run_below_upstream,
    Rule.LINE_GIVES_UP_BEFORE_CALLS: _line_gives_up_before_calls,
    Rule.LINE_GIVES_UP_BEFORE_CHECK: _line_gives_up_before_check,
    Rule.LIMIT_LOWERED: _limit_lowered,
    Rule.CAPS_RESERVE_TOO_MUCH: _caps_reserve_too_much,
}
