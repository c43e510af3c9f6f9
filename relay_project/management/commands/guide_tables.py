"""Writes the tables of docs/ that repeat what the code says (a test holds them to it)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import translation

from relay_project.env import BASE_DIR
from relay_project.guide.content import presets, reasons
from relay_project.guide.markdown import preset_table, reason_table

_NOTE = "Written by `manage.py guide_tables`; edit the sources it names, not this table.\n"


class Command(BaseCommand):
    help = "Write docs/reasons.md and docs/presets.md from the catalogue and the lane presets."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        docs = BASE_DIR / "docs"
        with translation.override("en"):
            pages = {
                "reasons.md": ("When the relay says no", "relay_project/catalogue.py", reason_table(reasons())),
                "presets.md": ("Presets", "scheduling/presets.py, providers/presets.py", preset_table(presets())),
            }
            for name, (title, source, table) in pages.items():
                text = f"# {title}\n\nFrom {source}. {_NOTE}\n" + "\n".join(table) + "\n"
                (docs / name).write_text(text, encoding="utf-8")
                self.stdout.write(f"docs/{name}")
