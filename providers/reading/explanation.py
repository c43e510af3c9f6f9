"""Says in words, for an admin, what a refusal means and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers.contract import Refusal
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S

MEANINGS: Mapping[K, Promise] = {
    K.RATE_LIMITED: gettext_lazy("Briefly busy: a rate limit of this account was reached. It clears by itself soon."),
    K.EXHAUSTED: gettext_lazy("Used up: the quota of this window is spent. It comes back by itself at the reset."),
    K.BILLING: gettext_lazy("Needs money, a plan or an entitlement. Waiting does not help: check billing and plan."),
    K.OVERLOADED: gettext_lazy("The provider has no capacity at the moment. It is not your limit."),
    K.CONCURRENCY: gettext_lazy("Too many calls at once. Fewer parallel calls help; a longer pause does not."),
    K.AUTH: gettext_lazy("The key was not accepted, or may not do this. Check the credential."),
    K.CONTEXT_LENGTH: gettext_lazy("The request is longer than this model takes. Shorten it or use a longer model."),
    K.BAD_REQUEST: gettext_lazy("The request itself was refused. Sending it again as it is does not help."),
    K.CONTENT_FILTER: gettext_lazy("The provider's content filter stopped the request."),
    K.NOT_FOUND: gettext_lazy("The provider does not know this model or address."),
    K.SERVER_ERROR: gettext_lazy("The provider failed. Nothing is known to be wrong with the request or the account."),
    K.TIMEOUT: gettext_lazy("The provider did not answer in time."),
    K.NONE: gettext_lazy("This is not a refusal."),
}

SCOPES: Mapping[S, Promise] = {
    S.SECOND: gettext_lazy("per second"),
    S.MINUTE: gettext_lazy("per minute"),
    S.HOUR: gettext_lazy("per hour"),
    S.FIVE_HOUR: gettext_lazy("five-hour window"),
    S.DAY: gettext_lazy("per day"),
    S.WEEK: gettext_lazy("per week"),
    S.MONTH: gettext_lazy("per month"),
    S.ACCOUNT: gettext_lazy("the whole account"),
    S.MODEL: gettext_lazy("this model"),
    S.REGION: gettext_lazy("this region"),
    S.CONCURRENCY: gettext_lazy("parallel calls"),
    S.REQUEST: gettext_lazy("this request"),
    S.UNKNOWN: gettext_lazy("not told"),
}

_CLEARS_BY_ITSELF = (K.RATE_LIMITED, K.EXHAUSTED, K.OVERLOADED, K.CONCURRENCY)


def explain(refusal: Refusal) -> str:
    """A few lines in the active language: meaning, scope, when, and what decided."""
    lines = [str(MEANINGS[refusal.kind])]
    if refusal.kind is not K.NONE:
        lines.append(_("Applies to: %(scope)s.") % {"scope": SCOPES[refusal.scope]})
        lines.append(_when(refusal))
    if refusal.limit_name:
        lines.append(_("The provider calls the limit: %(name)s.") % {"name": refusal.limit_name})
    lines.append(_("Decided by: %(evidence)s.") % {"evidence": refusal.evidence})
    if refusal.message:
        lines.append(_("The provider's words: %(message)s") % {"message": refusal.message})
    return "\n".join(filter(None, lines))


def _when(refusal: Refusal) -> str:
    if refusal.retry_after_s is None:
        return _("No usable time was told.") if refusal.kind in _CLEARS_BY_ITSELF else ""
    wait = _duration(refusal.retry_after_s)
    if refusal.reset_at is None:
        return _("Comes back in %(wait)s.") % {"wait": wait}
    return _("Comes back in %(wait)s, at %(moment)s.") % {
        "wait": wait,
        "moment": refusal.reset_at.strftime("%Y-%m-%d %H:%M:%S UTC"),
    }


def _duration(seconds: float) -> str:
    if seconds < 60:
        return _("%(seconds).3g s") % {"seconds": seconds}
    days, rest = divmod(round(seconds), 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    parts = (
        (days, _("%(n)d d")),
        (hours, _("%(n)d h")),
        (minutes, _("%(n)d min")),
        (left, _("%(n)d s")),
    )
    return " ".join(form % {"n": number} for number, form in parts if number)
