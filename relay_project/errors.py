"""Errors of the edges and of the use case. Each carries a stable `code`, never an HTTP status.

RelayError                     anything the relay tells a caller instead of an answer
├── RequestProblem             the request cannot be served as it is
│   ├── InvalidRequest         invalid_request, naming the field
│   ├── BodyTooLarge           request_too_large
│   ├── InvalidKey             invalid_api_key
│   ├── NotAllowed             model_not_allowed
│   └── NoSuchModel            model_not_found
├── TooMuchHeld                gateway_overloaded: too many bytes of requests in memory
├── NothingToTry               a role or model without a usable candidate; says why for each
└── ProviderSaidNo             the last refusal, when no candidate is left
(`scheduling.errors.Rejection` is the scheduler's own no.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from providers.contract import Refusal


class RelayError(Exception):
    code = "internal"


class RequestProblem(RelayError):
    code = "invalid_request"

    def __init__(self, message: str = "", *, param: str | None = None) -> None:
        super().__init__(message or self.code)
        self.message = message
        self.param = param


class InvalidRequest(RequestProblem):
    """`message` says what is wrong in plain words; `param` names the field, e.g. `messages[2].content`."""


class BodyTooLarge(RequestProblem):
    code = "request_too_large"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__()
        self.limit_bytes = limit_bytes


class InvalidKey(RequestProblem):
    code = "invalid_api_key"


class NotAllowed(RequestProblem):
    code = "model_not_allowed"


class NoSuchModel(RequestProblem):
    code = "model_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(param="model")
        self.name = name


class TooMuchHeld(RelayError):
    code = "gateway_overloaded"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a candidate was not tried."""

    model: str  # public name
    reason: str  # paused | closed | profile_missing | disabled | not_allowed
    message: str = ""
    retry_after_s: float | None = None


class NothingToTry(RelayError):
    def __init__(self, code: str, left_out: Sequence[LeftOut], *, provider: str = "", model: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.left_out = tuple(left_out)
        self.provider = provider
        self.model = model


class ProviderSaidNo(RelayError):
    """`retry_after_s` is what the caller is told: the provider's time or a longer known one; None = no known time."""

    def __init__(self, code: str, refusal: Refusal, *, provider: str, model: str, retry_after_s: float | None) -> None:
        super().__init__(code)
        self.code = code
        self.refusal = refusal
        self.provider = provider
        self.model = model
        self.retry_after_s = retry_after_s
