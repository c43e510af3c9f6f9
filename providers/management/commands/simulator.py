"""`manage.py simulator`: the scriptable upstream, alone, until it is told to end."""

from __future__ import annotations

import asyncio
import signal
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from providers.simulator.app import Simulator
from providers.simulator.dialects import DIALECTS
from providers.simulator.dialects.dialect import Catalogue
from providers.simulator.directives import Behaviour, DirectiveError, apply
from providers.simulator.limits.settings import (
    CEILING_NAMES,
    Ceilings,
    Charge,
    Scope,
    WindowKind,
    changed_ceilings,
    changed_rules,
)
from providers.simulator.options import Options
from providers.simulator.server import serving
from providers.simulator.styles import STYLES

CEILING_HELP = {
    "rps": "requests a second, in slices of one second",
    "rpm": "requests a minute",
    "rpd": "requests a day",
    "tpm": "tokens a minute",
    "itpm": "input tokens a minute",
    "otpm": "output tokens a minute",
    "tpd": "tokens a day",
    "concurrency": "requests at once",
}


class Command(BaseCommand):
    help = "Serve a simulated provider on the loopback. Everything it can do: docs/simulator.md."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("--port", type=int, default=0, help="0 chooses a free one (default)")
        parser.add_argument("--dialect", choices=sorted(DIALECTS), default="openai")
        _add_limits(parser)
        _add_behaviour(parser)
        parser.add_argument("--models", help="names, separated by commas; others get a 404")
        parser.add_argument("--api-key", action="append", default=[], help="accept only this key (may be repeated)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            simulator = Simulator(_read(options))
        except ValueError as error:
            raise CommandError(str(error)) from error
        asyncio.run(self._serve(simulator, options["port"]))

    async def _serve(self, simulator: Simulator, port: int) -> None:
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        async with serving(simulator, port) as url:
            self.stdout.write(f"Simulator: {url}")
            self.stdout.flush()
            await ended.wait()


def _add_limits(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("limits")
    for name in CEILING_NAMES:
        group.add_argument(f"--{name}", type=int, help=CEILING_HELP[name])
    group.add_argument("--style", choices=sorted(STYLES), default="openai", help="whose refusals, and whose rules")
    group.add_argument("--window", choices=[kind.value for kind in WindowKind], help="how a minute is cut")
    group.add_argument("--second", choices=[kind.value for kind in WindowKind], help="how a second is cut")
    group.add_argument("--day", help="rolling, bucket, or a time zone at whose midnight the day begins")
    group.add_argument("--charge", choices=[charge.value for charge in Charge], help="tokens charged at arrival")
    group.add_argument("--scope", choices=[scope.value for scope in Scope], help="what shares one counter")
    group.add_argument("--refund", choices=["yes", "no"], help="give unused tokens back at the end")
    group.add_argument("--counts-refused", choices=["yes", "no"], help="a refused call counts as a request")
    group.add_argument("--default-cap", type=int, help="the cap charged where the caller sets none")


def _add_behaviour(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("answers")
    group.add_argument("--ttft-ms", type=float, default=0.0, help="until the first token")
    group.add_argument("--jitter-ms", type=float, default=0.0, help="up to so much more, evenly spread")
    group.add_argument("--tokens-per-s", type=float, default=0.0, help="0: all at once")
    group.add_argument("--answer-tokens", type=int, help="exactly so many; else as many as the echo has")
    group.add_argument("--set", default="", help="further directives for every request, e.g. fault=gzip")


def _read(options: dict[str, Any]) -> Options:
    """Raises ValueError."""
    rules = {**options, "refund": _yes(options["refund"]), "counts_refused": _yes(options["counts_refused"])}
    return Options(
        dialect=options["dialect"],
        style=options["style"],
        ceilings=changed_ceilings(Ceilings(), options),
        rules=changed_rules(STYLES[options["style"]].rules, rules),
        behaviour=_behaviour(options),
        catalogue=_catalogue(options["models"]),
        keys=frozenset(options["api_key"]),
        started_epoch_s=int(timezone.now().timestamp()),
    )


def _behaviour(options: dict[str, Any]) -> Behaviour:
    behaviour = Behaviour(
        ttft_ms=options["ttft_ms"],
        jitter_ms=options["jitter_ms"],
        tokens_per_s=options["tokens_per_s"],
        answer_tokens=options["answer_tokens"],
    )
    try:
        return apply(behaviour, options["set"])
    except DirectiveError as error:
        raise ValueError(f"--set: {error}") from error


def _catalogue(names: str | None) -> Catalogue:
    if names is None:
        return Catalogue()
    return Catalogue(tuple(name.strip() for name in names.split(",") if name.strip()), open=False)


def _yes(word: str | None) -> bool | None:
    return None if word is None else word == "yes"
