"""How the Anthropic API and a Claude subscription say no (provider-facts §3, §4).

A subscription's windows are told by `anthropic-ratelimit-unified-*` headers, which the general reader knows;
the body says the same for every window.
"""

from __future__ import annotations

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

ANTHROPIC = Table(
    "anthropic",
    rows=(
        Row(K.AUTH, codes=("authentication_error", "authentication_failed")),
        Row(K.BILLING, codes=("billing_error",)),
        Row(K.NOT_FOUND, codes=("not_found_error",)),
        Row(K.BAD_REQUEST, codes=("request_too_large",)),
        Row(K.OVERLOADED, codes=("overloaded_error",)),
        Row(K.TIMEOUT, codes=("timeout_error",)),
        # One type for four things; only its words tell them apart.
        Row(K.CONCURRENCY, codes=("rate_limit_error",), words=r"concurrent connections"),
        Row(K.BILLING, codes=("rate_limit_error", "invalid_request_error"), words=r"extra usage is required"),
        Row(K.RATE_LIMITED, codes=("rate_limit_error", "rate_limit")),  # the second is Claude Code's
        Row(K.BILLING, codes=("invalid_request_error",), words=r"credit balance is too low"),
        # A spend limit that the account has set itself: it opens again on the day it names.
        Row(
            K.EXHAUSTED,
            S.MONTH,
            codes=("invalid_request_error",),
            words=r"specified (?:\w+ )?api usage limits",
        ),
        Row(
            K.CONTEXT_LENGTH,
            codes=("invalid_request_error",),
            words=r"prompt is too long|exceed context limit|context window",
        ),
        Row(K.SERVER_ERROR, codes=("api_error",)),
        Row(K.AUTH, codes=("permission_error",)),
    ),
    header_windows={
        "requests": S.MINUTE,
        "tokens": S.MINUTE,
        "input_tokens": S.MINUTE,
        "output_tokens": S.MINUTE,
    },
    text_zone="UTC",
)
