#!/usr/bin/env python
"""Django's command line for the relay."""

import os
import sys
from pathlib import Path


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relay_project.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            f"{error}. Use the project's own Python: `make run`, or .venv/bin/python manage.py …"
        ) from error
    if sys.argv[1:2] == ["up"]:
        from relay_project.server.installation import prepare

        prepare(sys.argv[2:], base_dir=Path(__file__).resolve().parent)
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
