"""Which of a vendor's figures are the account's own, as data. Sources: provider-facts, by section.

Whatever is not named here is taken at its word: `x-ratelimit-limit-*` is the account's limit, `remaining` what it has
left, "4/4 in use" its calls at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from providers.contract import RefusalScope


@dataclass(frozen=True, slots=True)
class Trust:
    headers: bool = True  # its limit headers are what it really enforces
    at_once: bool = True  # figures of calls at once are the account's; else those of a machine it shares
    per_slice: bool = False  # a header's limit is a shorter stretch's share of the configured window
    windows: Mapping[str, RefusalScope] = field(default_factory=dict)  # measure → window where a header names none


_EACH_MINUTE = {"requests": RefusalScope.MINUTE, "tokens": RefusalScope.MINUTE}
BY_ITS_WORD: Final = Trust()

TRUST: Final[Mapping[str, Trust]] = {
    "azure": Trust(per_slice=True),  # §2: requests are told per renewal period of 10 s, tokens per minute
    "github-models": Trust(headers=False),  # §2: headers promise 20,000 a minute, the true cap is a day's 8 or 15
    "nvidia": Trust(at_once=False),  # §8: "(16/16)" are the slots of a worker that everybody shares
    "ollama": Trust(at_once=False),  # §10: its queue is the machine's
    "simulator": Trust(windows=_EACH_MINUTE),
}


def trust_of(vendor: str) -> Trust:
    """That of a vendor's name, else of its stem ("nvidia-nim" → "nvidia")."""
    while vendor:
        if vendor in TRUST:
            return TRUST[vendor]
        vendor = vendor.rpartition("-")[0]
    return BY_ITS_WORD
