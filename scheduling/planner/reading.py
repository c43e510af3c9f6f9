"""From TOML to plans: one for each row, with the row's changes made. Errors name the field.

ScenarioError   the file is no scenario: "rows[2].retry.first_s: Expected `float`, got `str`"
└── NoSuchScenario   neither a bundled name nor a file
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from scheduling.core.adaptive import configured_per_s
from scheduling.planner.profile import lane_rules
from scheduling.planner.scenario import File, Profile, Provider, Recorded, Retry, Row, Work

BUNDLED = Path(__file__).parent / "scenarios"
T = TypeVar("T")


class ScenarioError(ValueError):
    """The text says what is wrong, and in which field."""


class NoSuchScenario(ScenarioError):
    """Neither a bundled name nor a file."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One row, complete: nothing of it is left to look up."""

    row: str
    client: str
    goes: str
    seed: int
    stops_s: float
    provider: Provider
    work: Work
    retry: Retry
    profile: Profile
    recorded: Recorded


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    about: str
    seed: int
    plans: tuple[Plan, ...]


def bundled_names() -> list[str]:
    return sorted(path.stem for path in BUNDLED.glob("*.toml"))


def find_scenario(name: str) -> str:
    """The text of a bundled scenario by its name, or of the file of that path. Raises NoSuchScenario."""
    path = BUNDLED / f"{name}.toml" if name in bundled_names() else Path(name)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{name}: not UTF-8 ({error.reason})") from error
    except OSError as error:
        known = ", ".join(bundled_names())
        raise NoSuchScenario(f"{name}: {error.strerror}. A path to a TOML file, or one of: {known}") from error


def read_scenario(text: str, seed: int | None = None) -> Scenario:
    """Raises ScenarioError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"not TOML: {error}") from error
    file = _convert(document, File, "")
    seed = file.seed if seed is None else seed
    plans = tuple(_plan(file, index, row, seed) for index, row in enumerate(file.rows))
    _refuse_doubles([plan.row for plan in plans])
    return Scenario(file.name, file.title, file.about, seed, plans)


def _plan(file: File, index: int, row: Row, seed: int) -> Plan:
    work = _changed(file.work, row.work, Work, ("work", f"rows[{index}].work"))
    profile = _changed(file.profile, row.profile, Profile, ("profile", f"rows[{index}].profile"))
    _refuse_what_only_the_relay_reads(row, index)
    _refuse_adaptive_without_a_limit(profile, file.provider, index)
    return Plan(
        row=row.row,
        client=row.client,
        goes=row.goes,
        seed=seed,
        stops_s=file.stops_s,
        provider=file.provider,
        work=work,
        retry=row.retry,
        profile=profile,
        recorded=row.recorded,
    )


def _changed(base: dict[str, Any], changes: dict[str, Any], kind: Any, names: tuple[str, str]) -> Any:
    """The file's table with the row's changes. What is wrong is looked for in the file's own table first."""
    if not changes:
        return _convert(base, kind, names[0])
    _convert(base, kind, names[0])
    return _convert({**base, **changes}, kind, names[1])


def _refuse_what_only_the_relay_reads(row: Row, index: int) -> None:
    if row.goes != "relay" and (row.profile or row.recorded != Recorded()):
        raise ScenarioError(f'rows[{index}]: profile and recorded are read only where goes = "relay"')


def _refuse_adaptive_without_a_limit(profile: Profile, provider: Provider, index: int) -> None:
    if profile.adaptive and configured_per_s(lane_rules(profile, provider)) is None:
        raise ScenarioError(
            f"rows[{index}]: profile.adaptive needs a window of requests: it is the limit to stay below"
        )


def _refuse_doubles(names: list[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ScenarioError(f"rows[{index}].row: {name!r} is the name of another row too")


def _convert(value: Any, kind: Any, under: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ScenarioError(_in_words(str(error), under)) from error


def _in_words(complaint: str, under: str) -> str:
    """msgspec's "Expected `int`, got `str` - at `$.a[0].b`" as "a[0].b: Expected …"."""
    what, _, where = complaint.rpartition(" - at ")
    if not what:
        return f"{under}: {complaint}" if under else complaint
    path = where.strip("`").removeprefix("$").removeprefix(".")
    return f"{'.'.join(filter(None, (under, path)))}: {what}"
