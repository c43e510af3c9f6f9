"""How fal says no (provider-facts §23): it limits nothing but parallel runs, and locks accounts without
balance.
"""

from __future__ import annotations

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

FAL = Table(
    "fal",
    rows=(
        Row(K.TIMEOUT, S.REQUEST, codes=("user",), statuses=(504,)),  # the caller's own limit ran out
        Row(K.CONCURRENCY, statuses=(429,)),
        Row(K.BILLING, statuses=(403,), words=r"exhausted balance|user is locked"),
    ),
    code_headers=("x-fal-request-timeout-type",),
)
