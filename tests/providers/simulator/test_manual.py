"""docs/simulator.md names everything there is."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path

from providers.management.commands.simulator import Command
from providers.simulator.app import Simulator
from providers.simulator.control import ENDPOINTS
from providers.simulator.directives import READERS
from providers.simulator.styles import STYLES

MANUAL = (Path(__file__).parents[3] / "docs" / "simulator.md").read_text()


def test_every_fault_stands_in_the_manual_as_the_code_describes_it():
    told = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", MANUAL, re.MULTILINE))
    assert {name: says for name, says in told.items() if name in Simulator().provider.faults} == {
        name: says.replace("|", "\\|") for name, says in Simulator().provider.faults.items()
    }


def test_every_flag_directive_style_and_endpoint_stands_in_the_manual():
    parser: ArgumentParser = Command().create_parser("manage.py", "simulator")
    own = parser.parse_args([]).__dict__.keys() - Command.base_stealth_options
    flags = {f"--{name.replace('_', '-')}" for name in own} - BASE_FLAGS
    for word in [*flags, *(f"`{name}`" for name in READERS), *(f"`{style}`" for style in STYLES)]:
        assert word in MANUAL, word
    for method, path in ENDPOINTS:
        assert f"`{method} {path}`" in MANUAL


BASE_FLAGS = {
    "--settings",
    "--pythonpath",
    "--traceback",
    "--no-color",
    "--force-color",
    "--verbosity",
    "--version",
    "--skip-checks",
}
