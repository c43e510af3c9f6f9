"""When what happened to one request: arrival, waits, attempts, first output. Times are monotonic microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scheduling.clock import Clock


@dataclass(slots=True)
class Attempt:
    provider: str
    model: str
    credential: str
    started_us: int
    run_us: int = 0
    outcome: str = ""
    reason: str = ""

    def row(self) -> dict[str, Any]:
        return {
            "provider": self.provider,
            "model": self.model,
            "credential": self.credential,
            "outcome": self.outcome,
            "reason": self.reason,
            "run_ms": self.run_us // 1000,
        }


class Timeline:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.began_wall_us = clock.wall_us()
        self.began_us = clock.now_us()
        self.attempts: list[Attempt] = []
        self.queue_us = 0
        self.pace_us = 0
        self._in_line_since_us = self.began_us
        self._first_content_us: int | None = None

    @property
    def since_arrival_us(self) -> int:
        return self._clock.now_us() - self.began_us

    @property
    def run_us(self) -> int:
        """All attempts together."""
        return sum(attempt.run_us for attempt in self.attempts)

    @property
    def ttft_ms(self) -> int | None:
        """From the start of the attempt that answered to its first real output."""
        if self._first_content_us is None or not self.attempts:
            return None
        return (self._first_content_us - self.attempts[-1].started_us) // 1000

    @property
    def is_running(self) -> bool:
        return bool(self.attempts) and not self.attempts[-1].outcome

    def waited(self, queue_us: int, pace_us: int) -> None:
        """A ticket that moves or re-enters keeps its arrival: of its wait only what came since counts anew."""
        anew_us = min(queue_us, self._clock.now_us() - self._in_line_since_us)
        self.queue_us += anew_us
        self.pace_us += min(pace_us, anew_us)

    def left_in_line(self) -> None:
        """It left before any attempt: all its time was waiting."""
        self.queue_us = self.since_arrival_us

    def attempt_began(self, provider: str, model: str, credential: str) -> None:
        self.attempts.append(Attempt(provider, model, credential, self._clock.now_us()))

    def first_content(self) -> None:
        if self._first_content_us is None:
            self._first_content_us = self._clock.now_us()

    def attempt_ended(self, outcome: str, reason: str) -> None:
        """An attempt that ended before, and whose answer is told all the same, stays as it was."""
        if self.is_running:
            attempt = self.attempts[-1]
            attempt.run_us = self._clock.now_us() - attempt.started_us
            attempt.outcome, attempt.reason = outcome, reason
            self._in_line_since_us = self._clock.now_us()
