"""What happened, as bare facts in order of time: the table and the picture are both made from it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Journal:
    """All times in µs of virtual time."""

    limits: list[str] = field(default_factory=list)  # the provider's, by name
    asked_us: list[int] = field(default_factory=list)  # a turn was asked for, for the first time
    started_us: list[int] = field(default_factory=list)  # the provider took it on
    refusals: list[tuple[int, str]] = field(default_factory=list)  # the provider's no: when, by which limit
    rejections: list[tuple[int, str]] = field(default_factory=list)  # the relay's no: when, with which code
    fills: list[tuple[int, list[float]]] = field(
        default_factory=list
    )  # at every arrival and every second, one share for each limit
    first_tokens_us: list[int] = field(default_factory=list)  # waited for it, from asking
    jobs_us: list[int] = field(default_factory=list)  # done: from the job's arrival to its end
    dead_us: list[int] = field(default_factory=list)  # given up: when
    dead_turns: list[int] = field(default_factory=list)  # and at which turn, from 0
    jobs: int = 0  # all there were
    charged_tokens: int = 0  # at arrival, by the provider's ruler
    billed_tokens: int = 0  # prompt and answer
    ended_us: int = 0  # the last start or end of a job

    def arrived(self, at_us: int, refused_by: str | None) -> None:
        if refused_by is None:
            self.started_us.append(at_us)
            self.ended_us = at_us
        else:
            self.refusals.append((at_us, refused_by))

    def filled(self, at_us: int, shares: list[float]) -> None:
        self.fills.append((at_us, shares))

    def charged(self, charged: int, billed: int) -> None:
        self.charged_tokens += charged
        self.billed_tokens += billed

    def done(self, at_us: int, took_us: int) -> None:
        self.jobs_us.append(took_us)
        self.ended_us = at_us

    def died(self, at_us: int, turn: int) -> None:
        self.dead_us.append(at_us)
        self.dead_turns.append(turn)
        self.ended_us = at_us
