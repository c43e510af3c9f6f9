from __future__ import annotations

import re
from html.parser import HTMLParser

from scheduling.planner.chart import BINS, Scales, chart, peaks, per_second, scales_of
from scheduling.planner.figures import percentile_s, steady_rate_per_s
from scheduling.planner.picture import Outcome, page
from scheduling.planner.reading import find_scenario, read_scenario
from scheduling.planner.table import seconds, table
from tests.scheduling.planner.plans import ran

S = 1_000_000


def outcomes() -> list[Outcome]:
    return [Outcome(one.figures, one.journal) for one in (ran("minute-burst", "A"), ran("minute-burst", "D"))]


def test_the_page_needs_nothing_from_outside_and_runs_no_script() -> None:
    html = page(read_scenario(find_scenario("minute-burst")), outcomes())
    assert not re.search(r"<script|<link|src=|href=|url\(|@import", html)
    assert "prefers-color-scheme: dark" in html


def test_the_page_is_well_formed_and_has_a_picture_for_each_row() -> None:
    class Balance(HTMLParser):
        open: list[str] = []
        pictures = 0

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in ("meta", "path"):
                self.open.append(tag)
            self.pictures += ("role", "img") in attrs

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    balance = Balance()
    balance.handle_startendtag = lambda tag, attrs: None  # type: ignore[method-assign]
    balance.feed(page(read_scenario(find_scenario("minute-burst")), outcomes()))
    assert (balance.open, balance.pictures) == ([], 2)


def test_a_picture_says_in_words_what_it_shows() -> None:
    one = ran("minute-burst", "A")
    svg = chart("A <b>", one.journal, scales_of([one.journal]))
    assert 'aria-label="A &lt;b&gt;: 300 asked for, 250 started, 200 refused by the provider"' in svg


def test_rates_are_counted_a_second_whatever_the_width_of_a_bin() -> None:
    scales = Scales(lasts_us=BINS * 10 * S, most_per_s=1)
    assert per_second([0, 1, 9 * S, 10 * S], scales)[:3] == [0.3, 0.1, 0]


def test_the_fullest_moment_of_a_bin_is_shown_and_a_gap_where_nobody_looked() -> None:
    scales = Scales(lasts_us=BINS * S, most_per_s=1)
    assert peaks([(0, [0.2]), (1, [0.9]), (2 * S, [0.1])], 0, scales)[:3] == [0.9, None, 0.1]


def test_the_table_leaves_out_what_says_nothing() -> None:
    lines = table([one.figures for one in outcomes()]).splitlines()
    assert lines[0].split()[:6] == ["row", "client", "429s", "done", "dead", "p50"]
    assert "rejected" not in lines[0]
    assert "first token" not in lines[0]
    assert "200 (44.4%)" in lines[2]
    assert len({len(line) for line in lines}) == 1


def test_a_percentile_among_endless_ones_may_be_endless() -> None:
    times = [second * S for second in range(1, 51)]
    assert percentile_s(times, 50, of=100) == 50.0
    assert percentile_s(times, 95, of=100) is None
    assert percentile_s([], 50, of=0) is None


def test_the_steady_rate_leaves_out_beginning_and_end() -> None:
    assert steady_rate_per_s([index * S // 10 for index in range(100)]) == 10
    assert steady_rate_per_s([0, 0, 0]) is None


def test_times_are_written_as_they_are_said() -> None:
    assert [seconds(value) for value in (None, 0.3672, 24.26, 512.24)] == ["", "367 ms", "24.3 s", "512 s"]
