"""The scheduler's closed sets as a person reads them, for forms and lists."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scheduling.core.spec import (
    ChargeRule,
    FairBy,
    Measure,
    OnBriefRefusal,
    OnDisconnect,
    Scope,
    WindowKind,
    WindowMode,
)

Label = str | Promise
Choices = list[tuple[str, Label]]
E = TypeVar("E", bound=enum.StrEnum)


def choices(labels: Mapping[E, Label]) -> Choices:
    return [(member.value, label) for member, label in labels.items()]


CHARGE_RULES: dict[ChargeRule, Label] = {
    ChargeRule.RESERVE_AND_SETTLE: _("Reserve prompt + longest answer, settle to what was used"),
    ChargeRule.PROMPT_PLUS_MAX: _("Prompt + longest answer, nothing given back (Azure)"),
    ChargeRule.MAX_OF: _("The larger of prompt and longest answer, nothing given back (OpenAI)"),
    ChargeRule.INPUT_OUTPUT: _("Input without cache reads; output as it is produced (Anthropic)"),
    ChargeRule.INPUT_ONLY: _("Input only (Gemini)"),
    ChargeRule.REQUESTS_ONLY: _("Requests only, no tokens"),
}
FAIRNESS: dict[FairBy, Label] = {
    FairBy.USER: _("Shared fairly between users"),
    FairBy.NONE: _("First come, first served"),
}
BRIEF_REFUSALS: dict[OnBriefRefusal, Label] = {
    OnBriefRefusal.WAIT_ONCE: _("Wait for the provider's time, once, then try again"),
    OnBriefRefusal.PASS_ON: _("Pass the provider's no and time on to the caller"),
}
DISCONNECTS: dict[OnDisconnect, Label] = {
    OnDisconnect.CANCEL: _("Stop the call"),
    OnDisconnect.DRAIN: _("Read on for a while, to learn what it cost"),
}
MEASURES: dict[Measure, Label] = {
    Measure.REQUESTS: _("requests"),
    Measure.INPUT_TOKENS: _("input tokens"),
    Measure.OUTPUT_TOKENS: _("output tokens"),
    Measure.TOTAL_TOKENS: _("tokens"),
}
WINDOW_KINDS: dict[WindowKind, Label] = {
    WindowKind.SLIDING: _("in any stretch of"),
    WindowKind.FIXED: _("in the provider's own clock stretch of"),
    WindowKind.CALENDAR: _("per calendar"),
}
WINDOW_SCOPES: dict[Scope, Label] = {
    Scope.PROVIDER: _("provider"),
    Scope.MODEL: _("model (its limit group)"),
    Scope.CREDENTIAL: _("API key (its quota group)"),
}
WINDOW_MODES: dict[WindowMode, Label] = {
    WindowMode.ENFORCED: _("kept to"),
    WindowMode.ESTIMATE: _("estimate: shown only"),
}
PERIODS: Choices = [("day", _("day")), ("week", _("week")), ("month", _("month"))]
