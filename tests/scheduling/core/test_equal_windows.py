"""The same window typed twice is one window."""

from __future__ import annotations

from scheduling.core.outcomes import Granted
from scheduling.core.spec import Measure, WindowSpec
from tests.scheduling.core.test_probe import NOW, ask, core


def test_two_equal_windows_of_a_profile_charge_a_start_once() -> None:
    window = WindowSpec(Measure.REQUESTS, 2, slice_us=0)
    scheduler = core(lanes=10, windows=(window, window))
    [first] = scheduler.line_up(ask("one"), NOW).events
    assert isinstance(first, Granted)
    views = scheduler.snapshot(NOW).providers[0].models[0].windows
    assert {view.used for view in views} == {1}
