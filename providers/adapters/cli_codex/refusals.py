"""How Codex says no: the command-line agent, which passes on nothing but a sentence, and its backend.

Sentences from codex-rs core/src/error.rs (provider-facts §5). Times are written in the zone of the agent's
machine, with the date left out when it is today's: a bare clock is the five-hour window, a date the week's.
"""

from __future__ import annotations

from providers.adapters.openai_chat.refusals import OPENAI
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

CODEX_BACKEND = Table(
    "codex backend",
    parent=OPENAI,
    rows=(
        Row(K.EXHAUSTED, S.ACCOUNT, codes=("usage_limit_reached",)),
        Row(K.BILLING, codes=("usage_not_included", "workspace_out_of_credits")),
        Row(K.OVERLOADED, words=r"at capacity"),
    ),
    long_scope=S.DAY,
    refills=True,
)

CODEX_CLI = Table(
    "codex cli",
    parent=CODEX_BACKEND,
    rows=(
        Row(K.BILLING, words=r"out of credits|check your plan and billing|to use codex with your chatgpt plan"),
        Row(K.EXHAUSTED, S.WEEK, words=r"usage limit.{0,400}try again at [A-Z][a-z]{2,8} \d"),
        Row(K.EXHAUSTED, S.FIVE_HOUR, words=r"usage limit.{0,400}try again at \d"),
        Row(K.EXHAUSTED, S.ACCOUNT, words=r"usage limit"),
        Row(K.OVERLOADED, words=r"high demand|overloaded"),
        Row(K.CONTEXT_LENGTH, words=r"context window"),
        Row(K.RATE_LIMITED, words=r"rate limit reached|exceeded the rate limit"),
        Row(K.AUTH, words=r"missing environment variable|not logged in|access token could not be refreshed"),
        Row(K.SERVER_ERROR, words=r"stream disconnected|stream closed before"),
    ),
    is_agent=True,
    long_scope=S.DAY,
    refills=True,
)
