"""Any error → `Problem`: the value the renderer draws. Translated by type, in one table each, never by prose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.http import Http404
from rest_framework import exceptions as drf

from relay_project.catalogue import CATALOGUE, Entry
from relay_project.errors import (
    BodyTooLarge,
    NoSuchModel,
    NothingToTry,
    ProviderSaidNo,
    RelayError,
    RequestProblem,
    TooMuchHeld,
)
from scheduling.errors import Rejection

log = structlog.get_logger(__name__)

FULL_RELAY_RETRY_S = 1.0
POINTLESS_AFTER_S = 120.0  # some SDKs sleep through any told time (facts: clients §0.2)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a caller is told instead of an answer."""

    code: str
    source: str = "relay"  # relay | provider
    words: Mapping[str, object] = field(default_factory=dict)  # fields of the catalogue's message
    own_message: str = ""  # in place of the catalogue's words
    param: str | None = None
    provider: str | None = None
    model: str | None = None
    retry_after_s: float | None = None
    estimate: bool = False
    detail: Mapping[str, object] = field(default_factory=dict)  # further members of the error object

    @property
    def entry(self) -> Entry:
        return CATALOGUE[self.code]

    @property
    def retry_after_ms(self) -> int | None:
        """Rounded up: a caller who comes back at the told time must not be early."""
        return None if self.retry_after_s is None else max(1, math.ceil(self.retry_after_s * 1000))

    @property
    def pointless(self) -> bool:
        """Trying again soon cannot help, or would be slept on for too long."""
        if self.retry_after_s is None or not self.entry.retry:
            return True
        return self.retry_after_s > POINTLESS_AFTER_S


def problem_of(error: BaseException) -> Problem:
    """Total: what is not known is a bug, logged, and told as `internal` without its text."""
    for kind, translate in _TRANSLATIONS:
        if isinstance(error, kind):
            return translate(error)
    log.error("unexpected error", exc_info=error)
    return Problem("internal")


def _rejection(error: Rejection) -> Problem:
    told = error.told
    detail = dict(told.detail or {})
    return Problem(
        error.code,
        words=detail | {"provider": error.provider},
        provider=error.provider or None,
        model=error.model or None,
        retry_after_s=None if told.retry_after_us is None else told.retry_after_us / 1e6,
        estimate=told.estimate,
        detail=detail,
    )


def _provider_said_no(error: ProviderSaidNo) -> Problem:
    return Problem(
        error.code,
        source="provider",
        words={"provider_message": error.refusal.message or error.refusal.evidence, "name": error.model},
        provider=error.provider,
        model=error.model,
        retry_after_s=error.retry_after_s,
    )


def _nothing_to_try(error: NothingToTry) -> Problem:
    times = [left.retry_after_s for left in error.left_out if left.retry_after_s is not None]
    message = "; ".join(left.message for left in error.left_out if left.message)
    return Problem(
        error.code,
        words={
            "provider_message": message,
            "pause_message": message,
            "provider": error.provider,
            "name": error.model,
        },
        provider=error.provider or None,
        model=error.model or None,
        retry_after_s=min(times) if times else None,
        detail={"candidates": [{"model": left.model, "reason": left.reason} for left in error.left_out]},
    )


def _too_large(error: BodyTooLarge) -> Problem:
    return Problem(error.code, words={"limit_bytes": error.limit_bytes}, detail={"limit_bytes": error.limit_bytes})


def _no_such_model(error: NoSuchModel) -> Problem:
    return Problem(error.code, words={"name": error.name}, param="model")


def _request_problem(error: RequestProblem) -> Problem:
    return Problem(error.code, own_message=error.message, param=error.param)


def _too_much_held(error: TooMuchHeld) -> Problem:
    return Problem(error.code, retry_after_s=FULL_RELAY_RETRY_S, estimate=True)


def _drf(error: drf.APIException) -> Problem:
    codes: tuple[tuple[type[drf.APIException], str], ...] = (
        (drf.NotAuthenticated, "invalid_api_key"),
        (drf.AuthenticationFailed, "invalid_api_key"),
        (drf.PermissionDenied, "model_not_allowed"),
        (drf.MethodNotAllowed, "method_not_allowed"),
        (drf.NotFound, "not_found"),
        (drf.ParseError, "invalid_request"),
        (drf.ValidationError, "invalid_request"),
    )
    for kind, code in codes:
        if isinstance(error, kind):
            return Problem(code, words={"provider_message": str(error.detail)})
    if isinstance(error, drf.Throttled):
        return Problem("token_limit_reached", retry_after_s=getattr(error, "wait", None) or FULL_RELAY_RETRY_S)
    log.error("unexpected API error", exc_info=error)
    return Problem("internal")


_TRANSLATIONS: tuple[tuple[type[BaseException], Callable[[Any], Problem]], ...] = (
    (Rejection, _rejection),
    (ProviderSaidNo, _provider_said_no),
    (NothingToTry, _nothing_to_try),
    (BodyTooLarge, _too_large),
    (NoSuchModel, _no_such_model),
    (RequestProblem, _request_problem),
    (TooMuchHeld, _too_much_held),
    (RelayError, lambda error: Problem(error.code)),
    (Http404, lambda error: Problem("not_found")),
    (drf.APIException, _drf),
)
