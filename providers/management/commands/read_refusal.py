"""How the relay reads refusals: one JSON line per record, `{id, kind, scope, retry_after_ms}`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from providers.contract import Refusal
from providers.reading.records import BadRecord, Record, parse_record
from providers.refusals import explain, read_refusal, retry_after_ms


class Command(BaseCommand):
    help = (
        "Reads provider refusals from a file of JSON lines ({id, provider, status, headers, body[, now]}) "
        "and prints what the relay makes of each. Without `now` a reset named as a moment gives no wait."
    )
    requires_system_checks: list[str] = []  # a pure reader: works in a half-configured deployment too

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", help="JSON lines; - reads standard input")
        parser.add_argument("--explain", action="store_true", help="explain each in words instead of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        write = self._explain if options["explain"] else self._print
        bad = 0
        for number, line in _numbered_lines(options["file"]):
            try:
                record = parse_record(line)
            except BadRecord as error:
                bad += 1
                self.stderr.write(f"line {number}: {error}")
                continue
            write(record, read_refusal(record.answer, record.now))
        if bad:
            raise CommandError(f"{bad} bad line(s)", returncode=1)

    def _print(self, record: Record, refusal: Refusal) -> None:
        reading = {
            "id": record.id,
            "kind": refusal.kind.value,
            "scope": refusal.scope.value,
            "retry_after_ms": retry_after_ms(refusal),
        }
        self.stdout.write(json.dumps(reading, ensure_ascii=False))

    def _explain(self, record: Record, refusal: Refusal) -> None:
        self.stdout.write(f"{record.id}\n{_indented(explain(refusal))}\n")


def _numbered_lines(name: str) -> Iterator[tuple[int, str]]:
    """Non-empty lines with their number from 1; bytes that are no UTF-8 make a bad line, not a crash."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}") from error
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
        if line.strip():
            yield number, line


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
