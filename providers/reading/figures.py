"""The figures that a limit refusal states: "Limit 10000, Used 8782, Requested 8172"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from providers.retry_after import parse_number

_NUMBER = r"[:\s]{1,3}(\d{1,3}(?:,\d{3}){1,5}|\d{1,15}(?:\.\d{1,9})?)(?![\d,]*\d)"
_LIMIT = re.compile(rf"\blimit{_NUMBER}", re.I)
_USED = re.compile(rf"\b(?:used|current){_NUMBER}", re.I)
_REQUESTED = re.compile(rf"\brequested{_NUMBER}", re.I)


@dataclass(frozen=True, slots=True)
class Figures:
    """As stated; None = not stated. They measure the account better than any estimate of ours."""

    limit: float | None
    used: float | None
    requested: float | None

    @property
    def never_fits(self) -> bool:
        return self.limit is not None and self.requested is not None and 0 < self.limit < self.requested

    def refill_wait_s(self, window_s: float) -> float | None:
        """The wait of a bucket that refills continuously (provider-facts §0.3, exact for OpenAI and Groq)."""
        if not self.limit or self.used is None or self.requested is None:
            return None
        return (self.used + self.requested - self.limit) * window_s / self.limit


def read_figures(text: str) -> Figures:
    return Figures(_first(_LIMIT, text), _first(_USED, text), _first(_REQUESTED, text))


def _first(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    return parse_number(match[1].replace(",", "")) if match else None
