"""The guide says what is in force, and lists every no with what to do."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from relay_project.catalogue import CATALOGUE
from relay_project.guide.content import build_guide, presets, reasons
from relay_project.guide.markdown import draw_markdown, preset_table, reason_table
from relay_project.refusal_codes import CODES
from scheduling.core.outcomes import Code
from scheduling.core.spec import Measure, WindowKind, WindowMode, WindowSpec
from scheduling.errors import Rejection
from scheduling.presets import LANE_PRESETS
from tests.relay_project.use_case_fakes import configuration, rules

ROOT = Path(__file__).resolve().parents[3]


def every_subclass(kind: type) -> set[type]:
    return {kind}.union(*(every_subclass(child) for child in kind.__subclasses__()))


def test_every_no_a_caller_can_get_is_in_the_guide_with_what_to_do() -> None:
    from relay_project.errors import RelayError

    told = {reason.code: reason for reason in reasons()}
    said_by_us = {code.value for code in Code} | set(CODES.values())
    said_by_us |= {kind.code for kind in every_subclass(RelayError) if getattr(kind, "code", "")}
    said_by_us |= {kind.code for kind in every_subclass(Rejection)} - {Rejection.code}
    assert said_by_us <= set(told)
    assert set(told) == set(CATALOGUE)
    for reason in told.values():
        assert reason.meaning, reason.code
        assert reason.advice, reason.code
        assert "%(" not in reason.meaning


def test_every_code_in_the_sources_is_in_the_guide() -> None:
    """Whatever a source file hands to an error as `code=` is told in the guide too."""
    sources = [path for folder in ("relay_project", "scheduling") for path in (ROOT / folder).rglob("*.py")]
    used = {code for path in sources for code in re.findall(r'\bcode="([a-z_]+)"', path.read_text(encoding="utf-8"))}
    assert used
    assert used <= set(CATALOGUE)


def test_concurrency_is_the_enforced_lane_or_less_where_less_is_advised() -> None:
    base = configuration(rules(lanes=4, lanes_per_model=2))
    assert [card.at_once for card in build_guide(base, "http://relay").models] == [2, 2]
    models = {key: replace(model, advised_concurrency=1) for key, model in base.models.items()}
    assert [card.at_once for card in build_guide(replace(base, models=models), "http://relay").models] == [1, 1]


def test_pace_is_told_in_words() -> None:
    minute = WindowSpec(Measure.REQUESTS, 60)
    day = WindowSpec(
        Measure.REQUESTS, 250, WindowKind.CALENDAR, 0, "day", "America/Los_Angeles", mode=WindowMode.ESTIMATE
    )
    guide = build_guide(configuration(rules(windows=(minute, day))), "http://relay")
    assert guide.models[0].pace == [
        "60 requests per minute",
        "about 250 requests per day (America/Los_Angeles) (an estimate, not enforced)",
    ]


def test_nvidia_is_noted_and_not_paced() -> None:
    nvidia = next(card for card in presets() if card.key == "nvidia")
    assert "40 per minute per key" in nvidia.note
    assert "not paced" in nvidia.note
    assert nvidia.pace == []


def test_the_presets_are_those_of_the_lane_profiles() -> None:
    assert {card.key: card.lanes for card in presets()} == {key: preset.lanes for key, preset in LANE_PRESETS.items()}


def test_the_markdown_names_every_role_model_code_and_preset() -> None:
    text = draw_markdown(build_guide(configuration(rules()), "http://relay"))
    for name in ["`fast-chat`", "`one`", "http://relay/v1", *(f"`{code}`" for code in CATALOGUE)]:
        assert name in text
    for key in LANE_PRESETS:
        assert f"`{key}`" in text


@pytest.mark.parametrize(
    ("name", "table"),
    [("reasons", lambda: reason_table(reasons())), ("presets", lambda: preset_table(presets()))],
)
def test_the_tables_in_the_docs_are_those_of_the_guide(name: str, table: object) -> None:
    """After a change: `manage.py guide_tables` writes them anew."""
    assert callable(table)
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in text
