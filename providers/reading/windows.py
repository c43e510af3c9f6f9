"""Which window a limit hangs on, read from names of limits ("GenerateRequestsPerDay…", "tokens per min
(TPM)").
"""

from __future__ import annotations

import re

from providers.contract import RefusalScope as S
from providers.retry_words import without_urls

SECONDS: dict[S, float] = {
    S.SECOND: 1.0,
    S.MINUTE: 60.0,
    S.HOUR: 3600.0,
    S.FIVE_HOUR: 5 * 3600.0,
    S.DAY: 86400.0,
    S.WEEK: 7 * 86400.0,
    S.MONTH: 30 * 86400.0,
}
_LONG_S = 3600.0  # from here on a caller cannot sit a window out: used up, not briefly busy

_IN_WORDS: tuple[tuple[S, str], ...] = (
    (S.SECOND, r"per[ _-]?sec(?:ond)?(?![a-z])|/\s?s(?:ec(?:ond)?)?\b|每秒"),
    (
        S.MINUTE,
        r"per[ _-]?min(?:ute)?(?![a-z])|/\s?min(?:ute)?\b|(?:\ba|every|each) minute\b|per[ _-]?minute|每分钟",
    ),
    (S.HOUR, r"per[ _-]?hour|/\s?(?:hour|hr|h)\b|\bhourly\b|每小时"),
    (S.FIVE_HOUR, r"\b(?:5|five)[ _-]?h(?:ours?|rs?)?\b|5\s?小时"),
    (S.DAY, r"per[ _-]?day|/\s?(?:day|d)\b|\bdaily\b|\b24[ -]?hours?\b|每天|每日"),
    (S.WEEK, r"per[ _-]?week|/\s?week\b|\bweekly\b|\b(?:7|seven)[ _-]?d(?:ays?)?\b|每周"),
    (S.MONTH, r"per[ _-]?month|/\s?month\b|\bmonthly\b|每月"),
)
_COMPILED = tuple((scope, re.compile(pattern, re.IGNORECASE)) for scope, pattern in _IN_WORDS)
# RPM, TPD, ITPM, ASH …, and the camel case of UserByModelByDay: case tells them from ordinary words.
_ACRONYM = re.compile(r"\b(?:[IO]?TP|RP|QP|IP|AS)([SMHD])\b|By(Second|Minute|Hour|Day)")
_ACRONYM_SCOPE = {"S": S.SECOND, "M": S.MINUTE, "H": S.HOUR, "D": S.DAY}
_PER_SECONDS = re.compile(r"\bper (\d{1,9})\s?s(?:econds?)?\b", re.IGNORECASE)


def longest_window(text: str) -> S | None:
    """The longest window named in `text`: with a minute and a day both spent, only the day matters."""
    return max(_windows(without_urls(text)), key=SECONDS.__getitem__, default=None)


def _windows(text: str) -> set[S]:
    found = {scope for scope, pattern in _COMPILED if pattern.search(text)}
    found |= {_ACRONYM_SCOPE[(a or b)[0]] for a, b in _ACRONYM.findall(text)}
    return found | {of_seconds(float(seconds)) for seconds in _PER_SECONDS.findall(text)}


def of_seconds(window_s: float) -> S:
    """The shortest named window that holds `window_s`."""
    return next((scope for scope, seconds in SECONDS.items() if window_s <= seconds), S.MONTH)


def is_long(scope: S | None) -> bool:
    return scope is not None and SECONDS.get(scope, 0.0) >= _LONG_S


def is_daily_or_longer(scope: S | None) -> bool:
    return scope is not None and SECONDS.get(scope, 0.0) >= SECONDS[S.DAY]
