"""Codes into words, and figures as people write them. A code without words is shown as it is."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.outcomes import Outcome

Words = Mapping[str, Promise]

OUTCOME_WORDS: Words = {
    Outcome.COMPLETED: pgettext_lazy("outcome", "answered"),
    Outcome.RECOVERED: pgettext_lazy("outcome", "answered, recovered"),
    Outcome.TRUNCATED: pgettext_lazy("outcome", "cut short"),
    Outcome.UPSTREAM_ERROR: pgettext_lazy("outcome", "provider error"),
    Outcome.EMPTY: pgettext_lazy("outcome", "empty answer"),
    Outcome.REFUSED: pgettext_lazy("outcome", "refused by provider"),
    Outcome.REJECTED: pgettext_lazy("outcome", "not accepted"),
    Outcome.EVICTED: pgettext_lazy("outcome", "gave up its place"),
    Outcome.QUEUE_TIMEOUT: pgettext_lazy("outcome", "waited too long"),
    Outcome.RUN_TIMEOUT: pgettext_lazy("outcome", "ran too long"),
    Outcome.CLIENT_GONE: pgettext_lazy("outcome", "you hung up"),
    Outcome.RELAY_LOST: pgettext_lazy("outcome", "relay stopped"),
    Outcome.RELAY_ERROR: pgettext_lazy("outcome", "relay error"),
}

GOOD = frozenset({Outcome.COMPLETED, Outcome.RECOVERED})
WARN = frozenset({Outcome.TRUNCATED, Outcome.CLIENT_GONE, Outcome.REJECTED, Outcome.EVICTED, Outcome.QUEUE_TIMEOUT})
SHAPES = {"good": "●", "warn": "▲", "bad": "■"}

# What the provider said no for, and what the relay told its caller.
REASON_WORDS: Words = {
    "rate_limited": gettext_lazy("briefly busy: too many requests for now"),
    "exhausted": gettext_lazy("used up until its reset"),
    "billing": gettext_lazy("needs a payment or a plan"),
    "overloaded": gettext_lazy("the provider has no capacity right now"),
    "concurrency": gettext_lazy("too many at once"),
    "auth": gettext_lazy("the relay's key was not accepted"),
    "context_length": gettext_lazy("too long for this model"),
    "bad_request": gettext_lazy("the request has a mistake"),
    "content_filter": gettext_lazy("stopped by the provider's content filter"),
    "not_found": gettext_lazy("the provider does not know this model"),
    "server_error": gettext_lazy("a fault at the provider"),
    "timeout": gettext_lazy("no answer in time"),
    "none": gettext_lazy("no usable answer"),
    "gateway_overloaded": gettext_lazy("the relay was full"),
    "provider_queue_full": gettext_lazy("the line was full"),
    "provider_queue_timeout": gettext_lazy("waited in line until the time limit"),
    "queue_evicted": gettext_lazy("gave its place in line to another"),
    "ticket_cancelled": gettext_lazy("taken out of the line by an administrator"),
    "provider_paused": gettext_lazy("paused by an administrator"),
    "provider_rate_limited": gettext_lazy("briefly busy: too many requests for now"),
    "provider_overloaded": gettext_lazy("the provider has no capacity right now"),
    "insufficient_quota": gettext_lazy("used up or unpaid"),
    "request_exceeds_limit": gettext_lazy("larger than a limit on its own"),
    "token_limit_reached": gettext_lazy("your own limit was reached"),
    "budget_exhausted": gettext_lazy("your budget is used up"),
    "lane_profile_missing": gettext_lazy("the provider is not fully set up"),
    "coordinator_unavailable": gettext_lazy("the relay's coordinator was away"),
    "relay_draining": gettext_lazy("the relay was going down for a restart"),
    "relay_lost": gettext_lazy("the relay process ended while this ran"),
    "run_timeout": gettext_lazy("no answer within the time limit"),
    "provider_unavailable": gettext_lazy("the provider could not be reached, or broke off"),
    "model_not_found": gettext_lazy("no such model"),
    "invalid_api_key": gettext_lazy("the personal token was not accepted"),
    "model_not_allowed": gettext_lazy("this token may not use the model"),
    "invalid_request": gettext_lazy("the request has a mistake"),
    "context_length_exceeded": gettext_lazy("too long for this model"),
    "content_filtered": gettext_lazy("stopped by the provider's content filter"),
    "request_too_large": gettext_lazy("the request is too large"),
    "client_gone": gettext_lazy("the caller left before the end"),
    "internal": gettext_lazy("a fault in the relay"),
}

MEASURED_WORDS: Words = {
    "measured": gettext_lazy("measured"),
    "estimated": gettext_lazy("estimated"),
    "partial": gettext_lazy("partly measured"),
}


def tone_of(outcome: str) -> str:
    """good | warn | bad."""
    if outcome in GOOD:
        return "good"
    return "warn" if outcome in WARN else "bad"


def in_words(words: Words, code: str) -> str:
    return str(words.get(code, code))


def a_number(value: float, decimals: int = 0) -> str:
    return number_format(round(value, decimals), decimals, use_l10n=True, force_grouping=True)


def short_number(value: int) -> str:
    """For narrow columns: 853,354 as 853k, 12,300,000 as 12.3M."""
    if value < 100_000:
        return a_number(value)
    return f"{a_number(value / 1e3)}k" if value < 1_000_000 else f"{a_number(value / 1e6, 1)}M"


def a_percentage(value: float, decimals: int = 1) -> str:
    text = _("%(share)s %%") % {"share": a_number(value, decimals)}
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def a_duration(milliseconds: float) -> str:
    if milliseconds < 60_000:
        return _("%(seconds)s s") % {"seconds": a_number(milliseconds / 1000, 1)}
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return _("%(minutes)s min %(seconds)s s") % {"minutes": a_number(minutes), "seconds": seconds}


def money(microusd: int | None) -> str:
    """Dollars; small sums keep the digits that tell them from nothing. A dash where no price is known."""
    if microusd is None:
        return "–"
    return "$" + a_number(microusd / 1e6, 4 if 0 < microusd < 1_000_000 else 2)
