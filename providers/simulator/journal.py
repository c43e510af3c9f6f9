"""What arrived at the upstream, so that tests count here and not from the counters of whoever is being
tested.
"""

from __future__ import annotations

import enum
import hashlib
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from typing import Any

from providers.simulator.request import Request

KEPT_ARRIVALS = 200_000
KEPT_HEADERS = (
    "user-agent", "x-request-id", "x-relay-request-id", "traceparent", "idempotency-key", "accept-encoding",
    "content-type", "cookie",
)  # fmt: skip


class Outcome(enum.StrEnum):
    RUNNING = "running"
    ANSWERED = "answered"
    REFUSED = "refused"  # the simulator said no by its own rules: key, body, limits
    ABORTED = "aborted_by_client"
    FAULT = "fault"  # a fault answered in place of an answer, or broke it off


@dataclass(slots=True)
class Arrival:
    """One request; times in microseconds since the simulator started, None until they have come."""

    number: int
    at_us: int
    method: str
    path: str
    key_fingerprint: str
    headers: dict[str, str]
    body_bytes: int
    body_sha256: str
    model: str = ""
    stream: bool = False
    fault: str = "ok"
    code_word: str = ""
    prompt_tokens: int = 0
    cap_tokens: int | None = None
    produced_tokens: int = 0
    admitted: bool = False
    status: int | None = None
    first_byte_us: int | None = None
    ended_at_us: int | None = None
    outcome: Outcome = Outcome.RUNNING


@dataclass(slots=True)
class Inflight:
    """How many are being worked on (admitted, not ended), and the most there ever were."""

    now: int = 0
    peak: int = 0
    by_model: Counter[str] = field(default_factory=Counter)
    peak_by_model: Counter[str] = field(default_factory=Counter)

    def enter(self, model: str) -> None:
        self.now += 1
        self.by_model[model] += 1
        self.peak = max(self.peak, self.now)
        self.peak_by_model[model] = max(self.peak_by_model[model], self.by_model[model])

    def leave(self, model: str) -> None:
        self.now -= 1
        self.by_model[model] -= 1

    def forget_peaks(self) -> None:
        self.peak = self.now
        self.peak_by_model = Counter(self.by_model)


class Journal:
    """The last 200,000 arrivals and the running count."""

    def __init__(self) -> None:
        self._arrivals: deque[Arrival] = deque(maxlen=KEPT_ARRIVALS)
        self._count = 0
        self.inflight = Inflight()

    def arrive(self, at_us: int, request: Request) -> Arrival:
        self._count += 1
        arrival = Arrival(
            self._count, at_us, request.method, request.path, request.key_fingerprint,
            {name: request.headers[name] for name in KEPT_HEADERS if name in request.headers},
            len(request.body), hashlib.sha256(request.body).hexdigest(),
        )  # fmt: skip
        self._arrivals.append(arrival)
        return arrival

    def admit(self, arrival: Arrival) -> None:
        arrival.admitted = True
        self.inflight.enter(arrival.model)

    def end(self, arrival: Arrival, now_us: int, outcome: Outcome) -> None:
        arrival.outcome, arrival.ended_at_us = outcome, now_us
        if arrival.admitted:
            self.inflight.leave(arrival.model)

    def reset(self) -> None:
        """Forget what has arrived; what is running is still counted as running."""
        self._arrivals.clear()
        self.inflight.forget_peaks()

    def report(self, model: str | None = None) -> dict[str, Any]:
        """`{arrivals: [...], inflight, peak_inflight, inflight_by_model, peak_by_model}`, of one model if
        named.
        """
        chosen = [arrival for arrival in self._arrivals if model is None or arrival.model == model]
        return {
            "arrivals": [asdict(arrival) for arrival in chosen],
            "inflight": self.inflight.now,
            "peak_inflight": self.inflight.peak,
            "inflight_by_model": {name: count for name, count in self.inflight.by_model.items() if count},
            "peak_by_model": dict(self.inflight.peak_by_model),
        }
