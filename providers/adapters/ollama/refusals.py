"""How Ollama says no (provider-facts §10): its own server's queue, and the plans of its cloud models."""

from __future__ import annotations

from providers.adapters.openai_chat.refusals import DIALECT
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

OLLAMA = Table(
    "ollama",
    parent=DIALECT,
    rows=(
        Row(K.CONCURRENCY, statuses=(503,), words=r"server busy|maximum pending requests"),
        Row(K.BILLING, S.MODEL, statuses=(403,), words=r"requires a subscription"),
        Row(K.EXHAUSTED, statuses=(429,), words=r"usage limit"),
        Row(K.NOT_FOUND, words=r"^model .{1,200} not found"),
    ),
)
