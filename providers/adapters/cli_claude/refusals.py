"""How Claude Code says no (provider-facts §4). A rejected `rate_limit_event` is read before these words.

The words come only from the final line's `result` when `is_error` is true, or from bare output; never from
prose. Behind ANTHROPIC_BASE_URL another vendor's text may follow "Request rejected (429) ·", hence the
Chinese rows.
"""

from __future__ import annotations

from providers.adapters.anthropic.refusals import ANTHROPIC
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

CLAUDE_CODE = Table(
    "claude code",
    parent=ANTHROPIC,
    rows=(
        Row(K.BILLING, codes=("billing_error",)),
        Row(K.BILLING, words=r"credit balance is too low"),
        Row(K.AUTH, words=r"please run /login|not logged in|invalid api key|oauth token has expired"),
        Row(K.CONTEXT_LENGTH, words=r"prompt is too long"),
        Row(K.EXHAUSTED, S.MODEL, words=r"\b(?:opus|sonnet|haiku|fable) limit\b"),
        Row(K.EXHAUSTED, S.WEEK, words=r"\bweekly limit\b|每周"),
        # Overage money is spent. Where a reset is named, the plan's own window is meant and comes back by
        # itself.
        Row(K.EXHAUSTED, S.ACCOUNT, words=r"\bout of extra usage\b.{0,20}\bresets\b"),
        Row(K.BILLING, words=r"\bout of extra usage\b"),
        Row(K.EXHAUSTED, S.FIVE_HOUR, words=r"\b(?:5-hour|session) limit\b|\b(?:hit your|usage) limit\b"),
        Row(K.EXHAUSTED, S.FIVE_HOUR, words=r"5 小时的使用上限"),
        Row(K.CONCURRENCY, words=r"并发数过高"),
        Row(K.OVERLOADED, words=r"\boverloaded\b"),
    ),
    is_agent=True,
)
