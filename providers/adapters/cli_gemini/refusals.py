"""How the Gemini CLI says no: Code Assist's errors inside its own JSON, or an exit code (provider-facts
§6.2).

It exits with the HTTP status of a failed call, which POSIX cuts to a byte: 429 becomes 173. Its own codes: 41
no credential, 42 bad input, 53 too many turns.
"""

from __future__ import annotations

from providers.adapters.gemini.refusals import CODE_ASSIST
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

_STATUSES = (400, 401, 403, 404, 429, 500, 503)

GEMINI_CLI = Table(
    "gemini cli",
    parent=CODE_ASSIST,
    rows=(
        Row(K.OVERLOADED, words=r"no capacity available|high demand"),
        Row(K.EXHAUSTED, S.DAY, words=r"exhausted your (?:daily|capacity)|quota will reset after \d+h"),
    ),
    is_agent=True,
    exit_statuses={41: 401, 42: 400, 53: 400} | {status & 0xFF: status for status in _STATUSES},
    long_scope=S.DAY,
    longest_of=CODE_ASSIST.longest_of,
    day_hint_floor_s=CODE_ASSIST.day_hint_floor_s,
)
