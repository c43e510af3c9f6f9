"""How far an answer has got, written down at its arrival, and the one moment at which it has ended."""

from __future__ import annotations

from collections.abc import Callable

from providers.simulator.journal import Arrival, Outcome


class Progress:
    """`settle` is called once, with the outcome of whatever ends the request first."""

    def __init__(
        self, arrival: Arrival, good: Outcome, now_us: Callable[[], int], settle: Callable[[Outcome], None]
    ) -> None:
        self._arrival = arrival
        self._good = good
        self._now_us = now_us
        self._settle: Callable[[Outcome], None] | None = settle

    def began(self, status: int | None) -> None:
        self._arrival.status = status or self._arrival.status
        if self._arrival.first_byte_us is None:
            self._arrival.first_byte_us = self._now_us()

    def produced(self, tokens: int) -> None:
        if self._settle is not None:  # what is written to a lost connection was not produced
            self._arrival.produced_tokens += tokens

    def finished(self) -> None:
        self._end(self._good)

    def broken_off(self) -> None:
        """The plan itself broke the connection."""
        self._end(Outcome.FAULT)

    def left(self) -> None:
        self._end(Outcome.ABORTED)

    def _end(self, outcome: Outcome) -> None:
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(outcome)
