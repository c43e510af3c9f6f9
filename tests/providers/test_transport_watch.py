"""The timer under the four clocks: one, re-armed lazily."""

from __future__ import annotations

from collections.abc import Callable

from providers.faults import Fault
from providers.transport import ClockLike
from providers.transport.watch import Watch
from scheduling.clock import FakeClock, SystemClock, Timer


class CountingClock:
    """Counts how often a timer is asked for."""

    def __init__(self) -> None:
        self.inner = FakeClock()
        self.asked = 0

    def now_us(self) -> int:
        return self.inner.now_us()

    def call_at(self, when_us: int, callback: Callable[[], None]) -> Timer:
        self.asked += 1
        return self.inner.call_at(when_us, callback)


async def test_ten_thousand_chunks_cost_a_handful_of_timers() -> None:
    clock = CountingClock()
    watch = Watch(clock, 100_000, lambda: None)
    for _ in range(10_000):
        watch.enter(Fault.IDLE_TIMEOUT, 60)
        await clock.inner.advance(0.01)
        watch.leave()
    assert watch.expired is None
    assert clock.asked < 10
    watch.close()


async def test_a_watch_that_was_closed_never_fires() -> None:
    clock = FakeClock()
    fired: list[Fault] = []
    watch = Watch(clock, 10, lambda: fired.append(Fault.TOTAL_TIMEOUT))
    watch.enter(Fault.IDLE_TIMEOUT, 5)
    watch.close()
    await clock.advance(100)
    assert fired == []


def test_the_schedulers_clocks_fit() -> None:
    clocks: list[ClockLike] = [FakeClock(), SystemClock()]
    assert all(clock.now_us() > 0 for clock in clocks)
