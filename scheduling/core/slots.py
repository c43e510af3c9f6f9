"""Come-back slots: the k-th refused caller is told when place k is expected free.

So a crowd that obeys does not come back together. Slots lie in a row, each one spacing after the one before; a slot
whose time has passed is gone, used or not. One number is all there is to remember. A caller who comes back early, again
and again, takes a slot each time; so that it cannot push everyone else's away without end, the row has an end.
"""

from __future__ import annotations

from typing import Final

SLOTS_AHEAD: Final = 512


class ComeBackSlots:
    __slots__ = ("_last_us",)

    def __init__(self) -> None:
        self._last_us = 0

    def take(self, first_us: int, spacing_us: int) -> int:
        """The next slot: not before `first_us` (when the first place is expected free)."""
        slot_us = max(first_us, self._last_us + spacing_us)
        self._last_us = min(slot_us, first_us + SLOTS_AHEAD * spacing_us)
        return self._last_us
