"""The project's own source files, parsed once, for the tests of its structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("accounts", "providers", "scheduling", "relay_project", "bench")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    path: Path  # relative to the project
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.as_posix()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    def imports(self) -> set[str]:
        """Full names of what is imported, wherever in the file: `a.b` and `a.b.c` for `from a.b import c`."""
        found: set[str] = set()
        for node in self.nodes(ast.Import, ast.ImportFrom):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        return found


@cache
def product() -> tuple[Source, ...]:
    """All that is delivered, without generated migrations."""
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return _parsed(path for path in [*found, ROOT / "manage.py"] if "migrations" not in path.parts)


@cache
def suite() -> tuple[Source, ...]:
    return _parsed((ROOT / "tests").rglob("*.py"))


def _parsed(paths: Iterator[Path]) -> tuple[Source, ...]:
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in sorted(paths)}
    return tuple(Source(path, text, ast.parse(text)) for path, text in texts.items())


def qualified_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every class and function with its dotted name within the file."""

    def walk(parent: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + node.name, node
                yield from walk(node, f"{prefix}{node.name}.")
            else:
                yield from walk(node, prefix)

    return walk(tree, "")
