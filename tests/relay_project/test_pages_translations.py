"""The Korean catalogues are whole, and what is compiled is what was written."""

from __future__ import annotations

import re
from pathlib import Path

import polib
import pytest
from django.utils import translation

from relay_project.catalogue import CATALOGUE
from relay_project.env import BASE_DIR

CATALOGUES = sorted(BASE_DIR.glob("*/locale/ko/LC_MESSAGES/django.po"))
PLACES = re.compile(r"%\(\w+\)[.\d]*[a-z]|%[sd]|\{\w+\}")


def test_there_is_a_catalogue_for_the_whole_project() -> None:
    assert BASE_DIR / "relay_project/locale/ko/LC_MESSAGES/django.po" in CATALOGUES


@pytest.fixture(params=CATALOGUES, ids=lambda path: path.relative_to(BASE_DIR).parts[0])
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def words(entry: polib.POEntry) -> str:
    return entry.msgstr_plural[0] if entry.msgid_plural else entry.msgstr


def test_nothing_is_empty_uncertain_or_left_over(path: Path) -> None:
    catalogue = polib.pofile(str(path))
    assert [entry.msgid for entry in catalogue if not entry.obsolete and not words(entry)] == []
    assert [entry.msgid for entry in catalogue.fuzzy_entries()] == []
    assert catalogue.obsolete_entries() == []


def test_every_place_to_be_filled_in_is_kept(path: Path) -> None:
    for entry in polib.pofile(str(path)):
        source = entry.msgid_plural or entry.msgid
        assert sorted(PLACES.findall(words(entry))) == sorted(PLACES.findall(source)), entry.msgid


def test_the_compiled_catalogue_says_the_same(path: Path) -> None:
    written = {(entry.msgctxt, entry.msgid): words(entry) for entry in polib.pofile(str(path))}
    compiled = {(entry.msgctxt, entry.msgid): words(entry) for entry in polib.mofile(str(path.with_suffix(".mo")))}
    assert compiled == written


def test_a_wait_that_was_too_long_is_told_in_the_agreed_words() -> None:
    with translation.override("ko"):
        told = str(CATALOGUE["provider_queue_timeout"].message)
    assert told == (
        "앞선 요청이 끝나기를 기다리다 대기 시간이 초과됐습니다. "
        "실행 중인 요청(연결 확인 포함)이 끝난 뒤 다시 호출하세요."
    )
