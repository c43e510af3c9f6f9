"""“What if”: the last day of one provider, once more, under other numbers.

arrivals   usage rows → recorded calls
numbers    what is typed → the configuration that would be in force: pure
(the replay itself: scheduling.planner.replay)
"""
