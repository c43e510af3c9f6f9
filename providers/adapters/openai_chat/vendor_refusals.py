"""What the hosted vendors of the OpenAI dialect say in their own way: one table each, data only.

Sources: provider-facts §8 (NVIDIA), §13–20, §22. Vendors that only use the dialect's own codes have no table.
"""

from __future__ import annotations

from providers.adapters.openai_chat.refusals import DIALECT
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

GROQ = Table(
    "groq",
    parent=DIALECT,
    long_scope=S.DAY,
    header_windows={"requests": S.DAY, "tokens": S.MINUTE},
    refills=True,
)

MISTRAL = Table(
    "mistral",
    parent=DIALECT,
    rows=(
        Row(K.RATE_LIMITED, S.MODEL, codes=("3505", "service_tier_capacity_exceeded")),
        Row(K.RATE_LIMITED, S.MODEL, statuses=(429,), words=r"service tier capacity exceeded"),
    ),
)

DEEPSEEK = Table(
    "deepseek",
    parent=DIALECT,
    rows=(
        # Its limit is parallel requests of the account; type and code are the same for everything.
        Row(K.CONCURRENCY, statuses=(429,)),
        Row(K.CONTENT_FILTER, statuses=(400,), words=r"content exists risk"),
        Row(K.BILLING, statuses=(400,), words=r"insufficient balance"),
        Row(K.OVERLOADED, statuses=(503,)),
    ),
)

OPENROUTER = Table(
    "openrouter",
    parent=DIALECT,
    rows=(
        Row(K.RATE_LIMITED, S.ACCOUNT, codes=("openrouter_in_flight_budget", "in_flight_budget_exhausted")),
        Row(K.OVERLOADED, codes=("upstream_provider_shared_pool",)),
        Row(K.BILLING, codes=("openrouter_credits",)),
        Row(K.BILLING, statuses=(402, 403), words=r"key limit exceeded \(total"),
        Row(K.EXHAUSTED, statuses=(402, 403), words=r"key limit exceeded"),
        Row(K.CONTENT_FILTER, statuses=(403,), words=r"moderation|flagged|guardrail"),
        Row(
            K.NOT_FOUND,
            statuses=(404, 503),
            words=r"no (?:available model provider|endpoints found|allowed providers)",
        ),
        Row(K.OVERLOADED, statuses=(429,), words=r"rate-limited upstream"),
        # Said before the reader of windows: the sentence goes on to advertise "1000 requests per day".
        Row(K.RATE_LIMITED, S.MINUTE, statuses=(429,), words=r"free-models-per-min"),
        Row(K.EXHAUSTED, S.DAY, statuses=(429,), words=r"free-models-per-day"),
    ),
)

TOGETHER = Table(
    "together",
    parent=DIALECT,
    rows=(Row(K.RATE_LIMITED, S.MODEL, codes=("model_rate_limit",)),),
)

FIREWORKS = Table(
    "fireworks",
    parent=DIALECT,
    rows=(Row(K.BILLING, statuses=(412,)),),
)

XAI = Table(
    "xai",
    parent=DIALECT,
    rows=(
        # The codes change with the year and are whole sentences; the same words about credits come with 429
        # and 403.
        Row(K.BILLING, statuses=(403, 429), words=r"used all available credits|spending limit"),
        Row(K.RATE_LIMITED, S.ACCOUNT, statuses=(429,)),
    ),
)

MOONSHOT = Table(
    "moonshot",
    parent=DIALECT,
    rows=(
        Row(K.BILLING, codes=("exceeded_current_quota_error",)),
        Row(K.CONCURRENCY, codes=("rate_limit_reached_error",), words=r"max concurrency"),
        Row(K.RATE_LIMITED, codes=("rate_limit_reached_error",)),
        Row(K.EXHAUSTED, S.MONTH, statuses=(403, 429), words=r"usage limit for this billing cycle"),
        Row(K.EXHAUSTED, S.ACCOUNT, statuses=(403, 429), words=r"usage limit for this period"),
        Row(K.CONTEXT_LENGTH, statuses=(400,), words=r"exceeded model token limit"),
        Row(K.BILLING, statuses=(403,), words=r"\bbalance\b"),
    ),
    day_zone="Asia/Shanghai",  # assumed by one client, not documented
    text_zone="Asia/Shanghai",
)

ZHIPU = Table(
    "zhipu",
    parent=DIALECT,
    rows=(
        Row(K.BILLING, codes=("1113", "1309")),
        Row(K.CONCURRENCY, codes=("1302",)),
        Row(K.OVERLOADED, codes=("1305",)),
        Row(K.CONTEXT_LENGTH, codes=("1261",)),
        Row(K.CONTENT_FILTER, codes=("1301",)),
        Row(K.EXHAUSTED, S.FIVE_HOUR, codes=("1308",)),
        Row(K.EXHAUSTED, S.WEEK, codes=("1310",)),  # "weekly/monthly": the shorter is the one a wait can disprove
    ),
    text_zone="Asia/Shanghai",
)

DASHSCOPE = Table(
    "dashscope",
    parent=DIALECT,
    rows=(
        # One code for a per-minute throttle and for a free quota that is gone for ever.
        Row(K.BILLING, S.MODEL, codes=("throttling.allocationquota", "insufficient_quota"), words=r"\bfree\b"),
        Row(K.BILLING, S.MODEL, codes=("allocationquota.freetieronly",)),
        Row(K.RATE_LIMITED, S.MINUTE, codes=("throttling.allocationquota", "insufficient_quota")),
        Row(K.RATE_LIMITED, codes=("throttling.ratequota", "limit_requests")),
        Row(K.RATE_LIMITED, S.SECOND, codes=("throttling.burstrate", "limit_burst_rate")),  # too steep: spread out
        Row(K.RATE_LIMITED, codes=("throttling",)),
        Row(
            K.BILLING,
            codes=("arrearage", "commoditynotpurchased", "prepaidbilloverdue", "postpaidbilloverdue"),
        ),
        Row(K.OVERLOADED, codes=("modelservingerror", "modelunavailable")),
        Row(K.TIMEOUT, codes=("requesttimeout",)),
        Row(K.CONTENT_FILTER, codes=("datainspectionfailed", "data_inspection_failed")),
        Row(K.AUTH, codes=("invalidapikey",)),
        Row(K.CONCURRENCY, codes=("internalerror.algo",), words=r"concurren"),
        Row(K.CONTEXT_LENGTH, statuses=(400,), words=r"range of input length|input length should be"),
    ),
)

HUGGINGFACE = Table(
    "huggingface",
    parent=DIALECT,
    rows=(
        Row(K.OVERLOADED, statuses=(503, 200), words=r"currently loading"),
        Row(K.BILLING, words=r"monthly included credits"),
    ),
)

NVIDIA = Table(
    "nvidia",
    parent=DIALECT,
    rows=(Row(K.CONCURRENCY, words=r"request limit reached \(\d+/\d+\)"),),
)

CEREBRAS = Table(
    "cerebras",
    parent=DIALECT,
    rows=(Row(K.CONTEXT_LENGTH, statuses=(413,)),),  # without a body
)

WANDB = Table(
    "wandb inference",
    parent=DIALECT,
    rows=(Row(K.CONCURRENCY, statuses=(429,), words=r"concurrency limit"),),
)

OPENCODE = Table("opencode zen", parent=DIALECT, rows=(Row(K.BILLING, codes=("creditserror",)),))
