"""The tables of refusals are data; these hold their form."""

from __future__ import annotations

from itertools import pairwise

import pytest

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope
from providers.reading.explanation import MEANINGS, SCOPES
from providers.reading.rows import Row, Table
from providers.reading.vendors import GENERIC, TABLES, table_of
from providers.reading.verdict import BY_STATUS

EVERY_TABLE = {id(table): table for table in [*TABLES.values(), GENERIC, GENERIC.parent] if table}.values()


def trust(row: Row) -> int:
    """0: has a code, 1: has a status, 2: words alone."""
    return 0 if row.codes else 1 if row.statuses else 2


@pytest.mark.parametrize("table", EVERY_TABLE, ids=lambda table: table.name)
def test_structured_codes_come_first_and_bare_words_last(table: Table) -> None:
    assert all(trust(above) <= trust(below) for above, below in pairwise(table.rows))


@pytest.mark.parametrize("table", EVERY_TABLE, ids=lambda table: table.name)
def test_every_row_has_a_condition_and_codes_are_lower_case(table: Table) -> None:
    for row in table.rows:
        assert row.codes or row.statuses or row.words
        assert all(code == code.lower() for code in row.codes)
        assert row.kind is not K.NONE


@pytest.mark.parametrize("table", EVERY_TABLE, ids=lambda table: table.name)
def test_no_row_hides_behind_a_wider_one_of_its_table(table: Table) -> None:
    for index, below in enumerate(table.rows):
        assert not [above for above in table.rows[:index] if takes_all_of(above, below)]


def takes_all_of(above: Row, below: Row) -> bool:
    """Whatever meets the conditions of `below` meets those of `above`, so that `below` can never decide."""
    return not above.words and covers(above.codes, below.codes) and covers(above.statuses, below.statuses)


def covers(wide: tuple[object, ...], narrow: tuple[object, ...]) -> bool:
    return not wide or (bool(narrow) and set(narrow) <= set(wide))


@pytest.mark.parametrize(
    ("vendor", "name"),
    [
        ("openai", "openai"),
        ("OpenAI", "openai"),
        ("zhipu-coding-plan", "zhipu"),
        ("claude-code-cli", "claude code"),
        ("claude", "claude code"),
        ("claude-subscription", "anthropic"),
        ("gemini-openai-compat", "gemini"),
        ("gemini_cli", "gemini cli"),
        ("lm-studio", "lm studio"),
        ("nobody-knows", "generic"),
        ("", "generic"),
    ],
)
def test_a_vendors_variants_fall_back_to_its_stem(vendor: str, name: str) -> None:
    assert table_of(vendor).name == name


def test_the_status_table_is_total_for_errors() -> None:
    for status in range(400, 600):
        assert any(row.holds(frozenset(), status, "") for row in BY_STATUS)


def test_every_kind_and_scope_can_be_explained() -> None:
    assert set(MEANINGS) == set(K)
    assert set(SCOPES) == set(RefusalScope)
