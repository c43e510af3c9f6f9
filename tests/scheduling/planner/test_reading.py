from __future__ import annotations

from pathlib import Path

import pytest

from scheduling.core.spec import ChargeRule
from scheduling.planner.reading import (
    NoSuchScenario,
    ScenarioError,
    bundled_names,
    find_scenario,
    read_scenario,
)
from scheduling.planner.scenario import Crowd

GOOD = """
name = "small"
title = "Small"
[provider]
limits = [{ measure = "requests", limit = 60 }]
[work]
arrive = "crowd"
clients = 2
prompt_tokens = [10]
turn_s = [1, 2]
[profile]
guard_ms = 10
[[rows]]
row = "one"
[[rows]]
row = "two"
goes = "relay"
work = { clients = 5 }
profile = { charge_rule = "requests_only" }
"""


def test_the_bundled_scenarios_are_all_good() -> None:
    assert bundled_names() == ["limit-halves", "minute-burst", "refund-trap", "stream-crowd"]
    for name in bundled_names():
        assert read_scenario(find_scenario(name)).name == name


def test_a_row_changes_single_fields_of_the_file_s_tables() -> None:
    one, two = read_scenario(GOOD).plans
    assert isinstance(one.work, Crowd)
    assert isinstance(two.work, Crowd)
    assert (one.work.clients, two.work.clients, two.work.turn_s) == (2, 5, (1.0, 2.0))
    assert (two.profile.guard_ms, two.profile.charge_rule) == (10, ChargeRule.REQUESTS_ONLY)


def test_the_seed_may_be_given_from_outside() -> None:
    assert [plan.seed for plan in read_scenario(GOOD, seed=7).plans] == [7, 7]


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ("limit = 60", 'limit = "many"', r"^provider\.limits\[0\]\.limit: Expected `int`"),
        ("limit = 60", "limit = 0", r"^provider\.limits\[0\]\.limit: Expected `int` >= 1"),
        ("limit = 60", "limit = 60, burst = 2", r"^provider\.limits\[0\]: .*unknown field `burst`"),
        ("limit = 60", "limit = 60, slice_s = 90", r"^provider\.limits\[0\]: slice_s: only for requests"),
        ('title = "Small"', "", r"missing required field `title`"),
        ("turn_s = [1, 2]", "turn_s = [1, 2, 3]", r"^work\.turn_s: Expected `array` of length"),
        ("turn_s = [1, 2]", "turn_s = [1, -2]", r"^work\.turn_s\[1\]: Expected `float` >= 0"),
        ('arrive = "crowd"', 'arrive = "mob"', r"^work\.arrive: Invalid value 'mob'"),
        ("clients = 5", "clients = 5.5", r"^rows\[1\]\.work\.clients: Expected `int`"),
        ("requests_only", "for_free", r"^rows\[1\]\.profile\.charge_rule: Invalid enum value 'for_free'"),
        ('goes = "relay"', 'goes = "astray"', r"^rows\[1\]\.goes: Invalid enum value 'astray'"),
        ('goes = "relay"', 'goes = "gate"', r"^rows\[1\]: profile and recorded are read only where"),
        ('row = "two"', 'row = "one"', r"^rows\[1\]\.row: 'one' is the name of another row too"),
        ("[work]", "[work", r"^not TOML: "),
    ],
)
def test_an_error_names_the_field(good: str, bad: str, complaint: str) -> None:
    text = GOOD.replace(good, bad)
    assert text != GOOD
    with pytest.raises(ScenarioError, match=complaint):
        read_scenario(text)


def test_adaptive_needs_a_limit_to_stay_below() -> None:
    text = GOOD.replace('measure = "requests"', 'measure = "tokens"').replace("guard_ms = 10", "adaptive = true")
    with pytest.raises(ScenarioError, match="adaptive needs a window of requests"):
        read_scenario(text)


def test_a_scenario_is_found_by_path_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert find_scenario(str(path)) == GOOD


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(NoSuchScenario, match=r"one of: limit-halves, minute-burst"):
        find_scenario("no-such")


def test_bytes_that_are_no_text_are_told_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        find_scenario(str(path))


def test_the_documented_example_is_a_scenario() -> None:
    text = (Path(__file__).parents[3] / "docs" / "planner.md").read_text(encoding="utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    assert [plan.row for plan in read_scenario(example).plans] == ["relay"]
