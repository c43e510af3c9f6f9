from __future__ import annotations

from scheduling.planner.timeline import SECOND_US, Timeline, in_us


def test_things_happen_in_order_and_those_of_the_same_moment_as_they_were_planned() -> None:
    timeline, seen = Timeline(), []
    for name, at_us in (("late", 20), ("first", 10), ("second", 10)):
        timeline.at(at_us, lambda name=name: seen.append((name, timeline.now_us)))
    assert timeline.advance(30) is False
    assert seen == [("first", 10), ("second", 10), ("late", 20)]


def test_what_is_planned_meanwhile_happens_too() -> None:
    timeline, seen = Timeline(), []
    timeline.at(5, lambda: timeline.after(5, lambda: seen.append(timeline.now_us)))
    timeline.advance(10)
    assert seen == [10]


def test_it_stops_where_it_is_told_and_says_that_there_is_more() -> None:
    timeline, seen = Timeline(), []
    timeline.at(10, lambda: seen.append(10))
    assert timeline.advance(9) is True
    assert (seen, timeline.now_us) == ([], 9)


def test_what_was_called_off_does_not_happen() -> None:
    timeline, seen = Timeline(), []
    timeline.at(10, lambda: seen.append(10)).call_off()
    timeline.advance(10)
    assert seen == []


def test_what_is_planned_for_the_past_happens_next() -> None:
    timeline, seen = Timeline(), []
    timeline.advance(100)
    timeline.at(10, lambda: seen.append(timeline.now_us))
    timeline.advance(100)
    assert seen == [100]


def test_seconds_become_whole_microseconds() -> None:
    assert in_us(1.7 / 100) == 17_000
    assert in_us(1) == SECOND_US
