"""Rules of the architecture that import-linter cannot hold."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.structure.sources import ROOT, Source, product

CLOCK = "scheduling/clock.py"
OTHER_CLOCKS = {"providers/simulator/clock.py": "the simulator plays a provider, which has a clock of its own"}
CLOCK_CALLS = {"now", "utcnow", "today"}  # of datetime and date
# Django's timezone.now: ORM defaults, admin, pages and background tasks (SCHEDULING's clocks are never involved).
WALL_CLOCK_READERS = ("models.py", "tasks.py", "views.py")
WALL_CLOCK_FOLDERS = ("models", "admin", "pages", "usage_page", "commands")
NETWORK = {"httpx", "aiohttp"}
TRANSPORT = "providers/transport"
CORE = "scheduling/core/"
IMPURE = {"time", "asyncio", "threading", "logging", "os", "socket", "random", "subprocess", "secrets", "sched"}
PURE_ADAPTER_FILES = ("encode.py", "decode.py", "refusals.py", "capabilities.py")
PURE_PROVIDER_FILES = ("refusals.py", "retry_after.py", "quota_headers.py", "sse.py")


def readers_of_time(source: Source) -> list[str]:
    """Imports of `time`, calls of datetime.now and the like, event loops' clocks."""
    found = [name for name in source.imports() if name == "time" or name.startswith("time.")]
    for call in source.nodes(ast.Call):
        target = call.func if isinstance(call, ast.Call) else None
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) in {"datetime", "datetime.datetime", "date"}:
            found += [ast.unparse(target)] if target.attr in CLOCK_CALLS else []
        if isinstance(target, ast.Attribute) and target.attr == "time" and "loop" in ast.unparse(target.value):
            found.append(ast.unparse(target))
    return [f"{source.name}: {name}" for name in found]


def wall_clock_readers(source: Source) -> list[str]:
    if source.path.name in WALL_CLOCK_READERS or set(source.path.parts) & set(WALL_CLOCK_FOLDERS):
        return []
    if source.path.name.startswith("admin"):
        return []
    return [f"{source.name}: timezone.now"] if "timezone.now" in source.text else []


def unexplained_catch_alls(source: Source) -> list[str]:
    """`except Exception` that neither ends by raising on nor states its reason in a comment."""
    caught = []
    for node in source.nodes(ast.ExceptHandler):
        if not isinstance(node, ast.ExceptHandler) or not _catches_all(node.type) or _raises_on(node):
            continue
        if not any("#" in line for line in source.lines[node.lineno - 1 : node.end_lineno]):
            caught.append(f"{source.name}:{node.lineno}")
    return caught


def impure_maps(source: Source) -> list[str]:
    """Files that are to be pure maps, yet await, define coroutines, log or read Django's settings."""
    if not _is_pure_map(source):
        return []
    awaits = list(source.nodes(ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith))
    imported = {name.partition(".")[0] for name in source.imports()} & {"django", "asyncio", "logging", "structlog"}
    return [f"{source.name}: awaits"] * bool(awaits) + [f"{source.name}: imports {name}" for name in sorted(imported)]


def network_importers(source: Source) -> list[str]:
    if source.name.startswith((TRANSPORT, "bench/")):
        return []
    imported = {name.partition(".")[0] for name in source.imports()} & NETWORK
    return [f"{source.name}: {name}" for name in sorted(imported)]


def core_imports(source: Source) -> list[str]:
    """The scheduling core takes from the standard library, its values only, and from itself."""
    if not source.name.startswith(CORE):
        return []
    roots = {name.partition(".")[0] for name in source.imports()} - {"scheduling"}
    foreign = roots - set(sys.stdlib_module_names) | roots & IMPURE
    inner = {name for name in source.imports() if name.startswith("scheduling.")}
    outside = {name for name in inner if not name.startswith(("scheduling.core", "scheduling.errors"))}
    return [f"{source.name}: {name}" for name in sorted(foreign | outside)]


def machine_paths(source: Source) -> list[str]:
    return [f"{source.name}: {path}" for path in ("/work/", "/" + "tmp/", "/home/", "/root/") if path in source.text]


@pytest.mark.parametrize(
    "rule",
    [wall_clock_readers, unexplained_catch_alls, impure_maps, network_importers, core_imports, machine_paths],
    ids=lambda rule: rule.__name__,
)
def test_the_product_keeps_the_rule(rule) -> None:  # type: ignore[no-untyped-def]
    assert [complaint for source in product() for complaint in rule(source)] == []


def test_only_the_clock_reads_time() -> None:
    others = [source for source in product() if source.name not in {CLOCK, *OTHER_CLOCKS}]
    relay = [source for source in others if source.path.parts[0] != "bench"]
    assert [complaint for source in relay for complaint in readers_of_time(source)] == []
    clock = next(source for source in product() if source.name == CLOCK)
    assert readers_of_time(clock), "the rule would see it"


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (readers_of_time, "accounts/a.py", "from time import monotonic"),
        (readers_of_time, "accounts/a.py", "import datetime\nx = datetime.datetime.now(tz=None)"),
        (readers_of_time, "accounts/a.py", "def f(loop):\n    return loop.time()"),
        (wall_clock_readers, "providers/a.py", "x = timezone.now()"),
        (unexplained_catch_alls, "accounts/a.py", "try:\n    x = 1\nexcept Exception:\n    x = 2"),
        (impure_maps, "providers/adapters/openai_chat/encode.py", "async def f(): ..."),
        (network_importers, "accounts/a.py", "def f():\n    import httpx"),
        (core_imports, "scheduling/core/a.py", "import random"),
        (core_imports, "scheduling/core/a.py", "from scheduling.clock import Clock"),
        (machine_paths, "accounts/a.py", "HOME = '/home/me'"),
    ],
)
def test_each_rule_sees_what_breaks_it(rule, name: str, text: str) -> None:  # type: ignore[no-untyped-def]
    path = (ROOT / name).relative_to(ROOT)
    assert rule(Source(path, text, ast.parse(text)))


def _catches_all(kind: ast.expr | None) -> bool:
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(name, ast.Name) and name.id in ("Exception", "BaseException") for name in names)


def _raises_on(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


def _is_pure_map(source: Source) -> bool:
    if source.path.parts[:2] == ("providers", "adapters"):
        return source.path.name in PURE_ADAPTER_FILES
    return source.path.parts[0] == "providers" and "/".join(source.path.parts[1:]) in PURE_PROVIDER_FILES
