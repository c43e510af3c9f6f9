"""The library of functions: the files in `lua/`, in order, as one text.

The library's name carries the schema version and a digest of its text, so two releases on one server never replace each
other's functions, and a library built for tests never is the served one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

SCHEMA: Final = 1
"""Of the records in the store. Raise it when a record's meaning changes; another schema's records are never read."""

MODULES: Final = "modules"
"""Declares what all files share; the others keep their own names to themselves (Lua allows 200 locals a scope)."""
FILES: Final = (
    MODULES, "numbers", "order", "store", "run", "config", "charge", "windows", "pacer", "axes", "sample", "slots",
    "limiters", "lines", "readiness", "roll", "leases", "policy", "starts", "endings", "times", "door", "probe",
    "closings", "expiry", "wiring", "arrange", "mail", "recovery", "clock", "verbs", "presence", "calls",
)  # fmt: skip
TOLD_CLOCK: Final = "clock_told"
"""Stands in for `clock` in a library built for tests: the caller says what time it is."""


@dataclass(frozen=True, slots=True)
class Library:
    name: str
    text: str

    def function(self, verb: str) -> str:
        return f"{self.name}_{verb}"


@cache
def library(*, told_clock: bool = False) -> Library:
    """The library that is served; with `told_clock`, the one for tests."""
    names = [TOLD_CLOCK if told_clock and name == "clock" else name for name in FILES]
    return built("\n".join(_lua(name) if name == MODULES else f"do\n{_lua(name)}end" for name in names))


def built(source: str) -> Library:
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    name = f"relay_{SCHEMA}_{digest}"
    return Library(name, f"#!lua name={name}\n" + source.replace("@LIBRARY@", name))


def _lua(name: str) -> str:
    return (Path(__file__).parent / "lua" / f"{name}.lua").read_text()
