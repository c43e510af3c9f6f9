"""What caps cost: tokens reserved at the start against tokens used in the end, per model.

Of the last 500 to 1,000 answers whose provider charges a cap at all; older ones fade by half at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scheduling.core.charge import arrival_amount, uses
from scheduling.core.spec import ChargeRule, Measure
from scheduling.core.tickets import Charge

FADES_AT: Final = 1_000
_NO_LIMIT: Final = 2**62


@dataclass(slots=True)
class CapCost:
    reserved_tokens: int = 0
    used_tokens: int = 0
    answers: int = 0

    @property
    def ratio(self) -> float | None:
        """Reserved, in multiples of what was used."""
        return self.reserved_tokens / self.used_tokens if self.used_tokens else None

    def add(self, reserved: int, used: int) -> None:
        if self.answers >= FADES_AT:
            self.reserved_tokens //= 2
            self.used_tokens //= 2
            self.answers //= 2
        self.reserved_tokens += reserved
        self.used_tokens += used
        self.answers += 1


class CapCosts:
    def __init__(self) -> None:
        self._of_model: dict[str, CapCost] = {}

    def record(self, model: str, rule: ChargeRule, charge: Charge, used_tokens: int) -> None:
        if uses(rule, Measure.OUTPUT_TOKENS):
            reserved = arrival_amount(rule, Measure.TOTAL_TOKENS, charge, _NO_LIMIT)
            self._of_model.setdefault(model, CapCost()).add(reserved, used_tokens)

    def of(self, model: str) -> CapCost:
        return self._of_model.get(model) or CapCost()
