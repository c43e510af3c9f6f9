"""How far our estimate of a prompt is from what the provider counts, per model.

The median of the last 64 ratios: images, tool tables and other things no estimate sees make single ratios of ten or a
hundred, and one of them must not move the next charge. Prompts too short to tell (the wrapping of a message outweighs
its words) do not count. Bound: between a quarter and four times the estimate, whatever is reported.
"""

from __future__ import annotations

from typing import Final

from scheduling.core.estimate import UNLEARNED_PERMILLE
from scheduling.core.moment import ceil_div
from scheduling.core.sample import Sample

SHORTEST_TOKENS: Final = 64
ENOUGH: Final = 8
LOWEST_PERMILLE, HIGHEST_PERMILLE = 250, 4_000


class PromptFactors:
    def __init__(self) -> None:
        self._ratios: dict[str, Sample] = {}  # model key → permille
        self._factors: dict[str, int] = {}

    def tokens(self, model: str, estimated: int) -> int:
        """The estimate as this model counts."""
        return ceil_div(estimated * self._factors.get(model, UNLEARNED_PERMILLE), 1000)

    def permille(self, model: str) -> int:
        return self._factors.get(model, UNLEARNED_PERMILLE)

    def record(self, model: str, estimated: int, reported: int) -> None:
        if estimated < SHORTEST_TOKENS or reported <= 0:
            return
        ratios = self._ratios.setdefault(model, Sample())
        ratios.add(min(HIGHEST_PERMILLE, max(LOWEST_PERMILLE, 1000 * reported // estimated)))
        if len(ratios) >= ENOUGH:
            self._factors[model] = ratios.percentile(50) or UNLEARNED_PERMILLE
