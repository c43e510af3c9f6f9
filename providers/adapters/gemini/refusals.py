"""How Google says no: the Gemini API, Code Assist and Vertex AI (provider-facts §6, §7).

`ErrorInfo.reason` and the names of violated quotas decide; the message is the same for a minute and for a
day.
"""

from __future__ import annotations

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Hint, Row, Table

# RetryInfo is cut to whole seconds while the text has the fraction: the longer of the two is true.
_LONGEST = frozenset({Hint.BODY, Hint.TEXT})
# A daily refusal often carries a false delay of 25-60 s; one above some minutes is the true one.
_FALSE_DAY_HINT_S = 300.0

GEMINI = Table(
    "gemini",
    rows=(
        Row(K.AUTH, codes=("api_key_invalid", "validation_required", "unauthenticated", "service_disabled")),
        Row(K.OVERLOADED, codes=("model_capacity_exhausted",)),
        Row(K.BILLING, codes=("insufficient_g1_credits_balance", "billing_disabled")),
        Row(K.CONTENT_FILTER, codes=("prompt_blocked",)),
        Row(K.BILLING, codes=("resource_exhausted",), words=r"prepay(?:ment)? credits?|credits are depleted"),
        Row(K.BILLING, codes=("permission_denied", "failed_precondition"), words=r"\bbilling\b"),
        Row(
            K.CONTEXT_LENGTH,
            codes=("invalid_argument",),
            words=r"token count .{0,40}exceeds the maximum number of tokens",
        ),
        Row(K.AUTH, codes=("invalid_argument", "permission_denied"), words=r"api key"),
        Row(K.AUTH, codes=("failed_precondition",), words=r"location is not supported"),
        Row(K.EXHAUSTED, S.DAY, codes=("quota_exhausted",)),
        Row(K.RATE_LIMITED, codes=("rate_limit_exceeded", "resource_exhausted")),
        Row(K.OVERLOADED, codes=("unavailable",)),
        Row(K.TIMEOUT, codes=("deadline_exceeded",)),
        Row(K.SERVER_ERROR, statuses=(499,)),
        Row(K.OVERLOADED, statuses=(503,)),
        Row(K.BILLING, words=r"prepayment credits are depleted"),  # a socket's closing words (1011)
    ),
    long_scope=S.DAY,
    longest_of=_LONGEST,
    day_hint_floor_s=_FALSE_DAY_HINT_S,
    day_zone="America/Los_Angeles",
)

CODE_ASSIST = Table(
    "gemini code assist",
    parent=GEMINI,
    long_scope=S.DAY,
    longest_of=_LONGEST,
    day_hint_floor_s=_FALSE_DAY_HINT_S,
)

VERTEX = Table(
    "vertex",
    parent=GEMINI,
    rows=(
        Row(K.RATE_LIMITED, S.ACCOUNT, codes=("resource_exhausted",), words=r"provisioned throughput"),
        # Dynamic shared quota: no number of your own exists, so this is the region's capacity.
        Row(
            K.OVERLOADED,
            S.REGION,
            codes=("resource_exhausted",),
            words=r"resource exhausted\. please try again later",
        ),
    ),
    long_scope=S.DAY,
    longest_of=_LONGEST,
)
