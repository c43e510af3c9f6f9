"""How the OpenAI dialect says no, and what OpenAI and Azure add (provider-facts §1, §2).

`DIALECT` is the parent of every vendor that speaks this dialect. Its words are those that many servers of the
dialect share where they give no usable code.
"""

from __future__ import annotations

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Hint, Row, Table

DIALECT = Table(
    "openai dialect",
    rows=(
        Row(
            K.BILLING,
            codes=("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"),
        ),
        Row(K.BILLING, codes=("insufficient_credits", "insufficient_balance", "payment_required")),
        Row(K.CONTEXT_LENGTH, codes=("context_length_exceeded", "exceed_context_size_error")),
        Row(
            K.CONTENT_FILTER,
            codes=(
                "content_filter",
                "content_policy_violation",
                "responsibleaipolicyviolation",
                "moderation_blocked",
            ),
        ),
        Row(K.AUTH, codes=("invalid_api_key", "authentication_error", "unsupported_country_region_territory")),
        Row(K.AUTH, codes=("permission_error", "account_deactivated"), statuses=(401, 403)),
        Row(K.NOT_FOUND, codes=("model_not_found", "not_found_error")),
        Row(K.OVERLOADED, codes=("slow_down",), statuses=(503,)),
        Row(K.OVERLOADED, codes=("server_is_overloaded", "overloaded_error", "engine_overloaded_error")),
        Row(K.OVERLOADED, codes=("service_unavailable_error",)),
        Row(
            K.RATE_LIMITED,
            codes=("rate_limit_exceeded", "rate_limit_error", "slow_down", "too_many_requests"),
        ),
        Row(
            K.CONTEXT_LENGTH,
            statuses=(400, 413, 422),
            words=r"context (?:length|window|size)|(?:prompt|input) is too long",
        ),
        Row(
            K.BILLING,
            statuses=(400, 401, 403, 429),
            words=r"(?:insufficient|not enough|out of) (?:credits?|balance|funds)|no payment method",
        ),
        Row(
            K.OVERLOADED,
            statuses=(429, 500, 502, 503),
            words=r"\boverloaded\b|at capacity|high demand|no capacity",
        ),
    ),
)

OPENAI = Table(
    "openai",
    parent=DIALECT,
    rows=(
        Row(
            K.BILLING,
            codes=(
                "credit_balance_exhausted",
                "organization_spend_limit_exceeded",
                "project_spend_limit_exceeded",
                "organization_usage_limit_exceeded",
            ),
        ),
    ),
    long_scope=S.DAY,  # OpenAI has minutes and days; a wait of hours is the day's
    header_windows={"requests": S.MINUTE, "tokens": S.MINUTE},
    refills=True,
)

AZURE = Table(
    "azure",
    parent=DIALECT,
    rows=(
        Row(K.EXHAUSTED, S.ACCOUNT, codes=("quotaexceeded",)),
        Row(K.NOT_FOUND, codes=("deploymentnotfound",)),
        Row(K.OVERLOADED, statuses=(429,), words=r"high demand"),
        # API Management: the token rate is 429, the token quota 403.
        Row(
            K.EXHAUSTED,
            S.ACCOUNT,
            statuses=(403,),
            words=r"quota (?:is|has been) exceeded|out of call volume quota",
        ),
    ),
    long_scope=S.DAY,
    # Its fixed window ends at the reset of the empty axis; "retry-after: 1" beside it makes clients hammer.
    longest_of=frozenset({Hint.RETRY_AFTER_MS, Hint.RETRY_AFTER, Hint.TEXT, Hint.QUOTA_HEADER}),
)

GITHUB_MODELS = Table(
    "github models",
    parent=DIALECT,
    rows=(
        Row(K.CONTEXT_LENGTH, codes=("tokens_limit_reached",)),
        Row(K.RATE_LIMITED, codes=("ratelimitreached",)),
    ),
    long_scope=S.DAY,
)
