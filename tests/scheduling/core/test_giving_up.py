"""Who gives up in line frees at once what it kept others from."""

from __future__ import annotations

from scheduling.core.outcomes import Granted, Left
from scheduling.core.spec import Class, Measure, WindowSpec
from scheduling.core.tickets import Ask, Charge
from tests.scheduling.core.test_probe import at, core

TOKENS = WindowSpec(Measure.TOTAL_TOKENS, 100)


def ask(name: str, tokens: int, *, klass: Class = Class.INTERACTIVE, wait_s: float | None = None) -> Ask:
    charge = Charge(prompt_tokens=tokens, cap_tokens=0)
    wait_us = None if wait_s is None else round(wait_s * 1e6)
    return Ask(ticket_id=name, provider="p", model="p/m", klass=klass, flow=name, charge=charge, max_wait_us=wait_us)


def test_who_was_pinned_by_one_that_gives_up_starts_in_the_very_same_step() -> None:
    scheduler = core(lanes=10, windows=(TOKENS,))
    scheduler.line_up(ask("running", 60), at(0))
    assert scheduler.line_up(ask("large", 90, wait_s=20), at(15)).events == ()
    assert scheduler.line_up(ask("small", 10, klass=Class.BATCH), at(16)).events == ()  # it would fit, but is pinned
    gone, started = scheduler.pump(at(35)).events
    assert isinstance(gone, Left)
    assert isinstance(started, Granted)
    assert (gone.ticket_id, started.ticket_id) == ("large", "small")
