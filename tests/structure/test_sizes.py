"""The ceilings of the house style. The lists of exceptions may only shrink: an entry that is not needed fails too."""

from __future__ import annotations

import ast

import pytest

from tests.structure.sources import ROOT, Function, Source, product, qualified_definitions, suite

FUNCTION_LINES = 40
CLASS_LINES = 150
FILE_LINES = 250
LONG_FILE_LINES = 400
LONG_FILES = ("models.py", "models", "settings.py")  # files or folders
PARAMETERS = 6
LUA_VERB_LINES = 60
FORBIDDEN_WORDS = ("util", "utils", "helper", "helpers", "manager", "handler")
FORBIDDEN_NAMES = (*FORBIDDEN_WORDS, "common")

# file::name → why it stays
ALLOWED: dict[str, str] = {
    "relay_project/api/slim.py::SlimHandler": "it is Django's ASGIHandler, made slim",
}


def oversized_functions(source: Source) -> list[str]:
    return [
        f"{source.name}::{name} has {length} lines"
        for name, node in qualified_definitions(source.tree)
        if isinstance(node, Function) and (length := _length(node)) > FUNCTION_LINES
    ]


def oversized_classes(source: Source) -> list[str]:
    return [
        f"{source.name}::{name} has {length} lines"
        for name, node in qualified_definitions(source.tree)
        if isinstance(node, ast.ClassDef) and (length := _length(node)) > CLASS_LINES
    ]


def oversized_files(source: Source) -> list[str]:
    ceiling = LONG_FILE_LINES if set(source.path.parts) & set(LONG_FILES) else FILE_LINES
    return [f"{source.name} has {len(source.lines)} lines"] if len(source.lines) > ceiling else []


def crowded_functions(source: Source) -> list[str]:
    return [
        f"{source.name}::{name} has {count} parameters"
        for name, node in qualified_definitions(source.tree)
        if isinstance(node, Function) and (count := _parameter_count(node)) > PARAMETERS
    ]


def forbidden_names(source: Source) -> list[str]:
    named = [f"{source.name}::{name}" for name, _ in qualified_definitions(source.tree) if _is_forbidden(name)]
    return named + [source.name for part in source.path.with_suffix("").parts if part in FORBIDDEN_NAMES]


RULES = (oversized_functions, oversized_classes, oversized_files, crowded_functions, forbidden_names)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_product_keeps_the_ceilings(rule) -> None:  # type: ignore[no-untyped-def]
    broken = [complaint for source in product() for complaint in rule(source)]
    assert [complaint for complaint in broken if complaint.split(" has ")[0] not in ALLOWED] == []


def test_no_exception_outlives_its_need() -> None:
    broken = {complaint.split(" has ")[0] for rule in RULES for source in product() for complaint in rule(source)}
    assert set(ALLOWED) - broken == set()


def test_test_functions_keep_the_ceiling_too() -> None:
    assert [complaint for source in suite() for complaint in oversized_functions(source)] == []


def test_a_lua_verb_is_short() -> None:
    long = {
        str(path.relative_to(ROOT)): length
        for path in ROOT.glob("scheduling/backends/lua/*.lua")
        if (length := len(path.read_text().splitlines())) > LUA_VERB_LINES
    }
    assert long == {}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (oversized_functions, "def f():\n" + "    pass\n" * 41),
        (oversized_classes, "class C:\n" + "    x = 1\n" * 151),
        (oversized_files, "x = 1\n" * 251),
        (crowded_functions, "def f(a, b, c, d, *, e, f, g): ..."),
        (forbidden_names, "class TicketManager: ..."),
        (forbidden_names, "def error_handler(): ..."),
    ],
)
def test_each_rule_sees_what_breaks_it(rule, text: str) -> None:  # type: ignore[no-untyped-def]
    from pathlib import Path

    assert rule(Source(Path("accounts/sample.py"), text, ast.parse(text)))


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _parameter_count(function: Function) -> int:
    given = function.args
    named = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in named if name not in ("self", "cls")])


def _is_forbidden(name: str) -> bool:
    """By the last word of the last part: `TicketManager`, `error_handler`, `utils`."""
    last = name.rpartition(".")[2]
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in last).strip("_").split("_")
    return words[-1] in FORBIDDEN_WORDS or last in FORBIDDEN_NAMES
