"""How Cohere says no (provider-facts §17): only a sentence; "/ minute" and "/ month" in it decide."""

from __future__ import annotations

from providers.contract import RefusalKind as K
from providers.reading.rows import Row, Table

COHERE = Table(
    "cohere",
    rows=(
        Row(K.AUTH, statuses=(401,), words=r"api token"),
        Row(K.CONTEXT_LENGTH, statuses=(400,), words=r"too many tokens"),
    ),
)
