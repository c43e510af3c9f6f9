"""Every code a caller can be told, in one table (DESIGN §6): status, stage, type, the words, and what to do.

The guide, the tests and the renderer read it; nobody else knows an HTTP status. Words are translated when rendered.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Entry:
    status: int
    stage: str  # request | capacity | provider | quota | configuration | relay
    type: str  # OpenAI's error type, which SDKs turn into exception classes
    message: Promise  # may hold %(name)s fields
    advice: Promise  # what the caller should do
    retry: bool = False  # is trying again soon sensible at all


_ASK_ADMIN = _("Ask an administrator.")
_WAIT_TOLD = _("Wait the told time, plus a little jitter, and send again.")

CATALOGUE: dict[str, Entry] = {
    "gateway_overloaded": Entry(
        429,
        "capacity",
        "rate_limit_error",
        _("The relay is full. Call again in a moment."),
        _WAIT_TOLD,
        retry=True,
    ),
    "provider_queue_full": Entry(
        429,
        "capacity",
        "rate_limit_error",
        _("The line before this provider is full. Call again in a moment."),
        _WAIT_TOLD,
        retry=True,
    ),
    "provider_queue_timeout": Entry(
        429,
        "capacity",
        "rate_limit_error",
        _(
            "Waited in line until the time limit. Call again when the running requests "
            "(a connection check included) have ended."
        ),
        _("Wait the told time, or allow a longer wait with X-Relay-Max-Wait-Ms."),
        retry=True,
    ),
    "queue_evicted": Entry(
        429,
        "capacity",
        "rate_limit_error",
        _("This request gave its place in line to another."),
        _WAIT_TOLD,
        retry=True,
    ),
    "ticket_cancelled": Entry(
        429,
        "capacity",
        "rate_limit_error",
        _("An administrator took this request out of the line."),
        _ASK_ADMIN,
    ),
    "provider_rate_limited": Entry(
        429,
        "provider",
        "rate_limit_error",
        _("The provider is briefly busy: %(provider_message)s"),
        _WAIT_TOLD,
        retry=True,
    ),
    "provider_overloaded": Entry(
        503,
        "provider",
        "overloaded_error",
        _("The provider has no capacity right now; this is not your limit: %(provider_message)s"),
        _("Use another model or a role name, or try again later."),
    ),
    "insufficient_quota": Entry(
        429,
        "quota",
        "insufficient_quota",
        _("Used up: %(provider_message)s"),
        _("Use another model or a role name; this one comes back at the told time."),
    ),
    "request_exceeds_limit": Entry(
        400,
        "quota",
        "invalid_request_error",
        _(
            "This request alone is larger than a limit of the provider (%(estimate)s tokens of %(limit)s). "
            "The largest max_tokens that would fit is %(largest_cap)s."
        ),
        _("Send fewer tokens or a smaller max_tokens; waiting does not help."),
    ),
    "token_limit_reached": Entry(
        429,
        "quota",
        "rate_limit_error",
        _("Your own limit is reached."),
        _WAIT_TOLD,
        retry=True,
    ),
    "budget_exhausted": Entry(
        429,
        "quota",
        "insufficient_quota",
        _("Your own budget is used up."),
        _ASK_ADMIN,
    ),
    "lane_profile_missing": Entry(
        503,
        "configuration",
        "configuration_error",
        _("The provider %(provider)s has no lane profile. An administrator must give it one."),
        _ASK_ADMIN,
    ),
    "provider_paused": Entry(
        503,
        "configuration",
        "configuration_error",
        _("An administrator has paused this: %(pause_message)s"),
        _("Use another model or a role name, or ask an administrator."),
    ),
    "coordinator_unavailable": Entry(
        503,
        "relay",
        "server_error",
        _("The relay's coordinator is away, so nothing can be started safely."),
        _("Try again later; the relay recovers by itself."),
    ),
    "relay_draining": Entry(
        503,
        "relay",
        "server_error",
        _("The relay is going down for a restart."),
        _("Try again in a minute."),
    ),
    "run_timeout": Entry(
        504,
        "provider",
        "timeout_error",
        _("The answer took longer than the run limit."),
        _("Ask for less, or for a longer run limit; sending again at once would only repeat it."),
    ),
    "provider_unavailable": Entry(
        502,
        "provider",
        "server_error",
        _("The provider could not be reached or gave no usable answer: %(provider_message)s"),
        _("Use another model or a role name, or try again later."),
    ),
    "model_not_found": Entry(
        404,
        "request",
        "invalid_request_error",
        _("There is no model or role named %(name)s. GET /v1/models lists them."),
        _("Use a name from GET /v1/models."),
    ),
    "not_found": Entry(
        404,
        "request",
        "invalid_request_error",
        _("There is nothing at this address."),
        _("See the guide for the addresses."),
    ),
    "method_not_allowed": Entry(
        405,
        "request",
        "invalid_request_error",
        _("This address does not take that method."),
        _("Use POST for completions."),
    ),
    "invalid_api_key": Entry(
        401,
        "request",
        "authentication_error",
        _("The personal token is missing, unknown, expired or revoked."),
        _("Send Authorization: Bearer rk-… with a valid personal token."),
    ),
    "model_not_allowed": Entry(
        403,
        "request",
        "permission_error",
        _("Your token may not do this."),
        _ASK_ADMIN,
    ),
    "invalid_request": Entry(
        400,
        "request",
        "invalid_request_error",
        _("The request is not valid: %(provider_message)s"),
        _("Correct the named field."),
    ),
    "context_length_exceeded": Entry(
        400,
        "request",
        "invalid_request_error",
        _("The prompt is longer than the model's context: %(provider_message)s"),
        _("Shorten the prompt or use a model with a longer context."),
    ),
    "content_filtered": Entry(
        400,
        "request",
        "invalid_request_error",
        _("The provider's content filter refused: %(provider_message)s"),
        _("Change the prompt."),
    ),
    "request_too_large": Entry(
        413,
        "request",
        "invalid_request_error",
        _("The request body is larger than %(limit_bytes)s bytes."),
        _("Send less in one request."),
    ),
    "internal": Entry(
        500,
        "relay",
        "server_error",
        _("The relay made a mistake. It has been logged under the request id."),
        _("Report the request id to an administrator."),
    ),
}
