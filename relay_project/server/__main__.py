"""One server process: `python -m relay_project.server --server daphne --port 8000`."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Callable

import django
from django.http import HttpResponse

from relay_project.env import load_env
from relay_project.server.children import READY_FD
from relay_project.server.interpreter import tune_interpreter
from relay_project.server.options import RenderRefusal, ServerOptions

LAUNCHERS = {
    "daphne": "relay_project.server.daphne_launcher",
    "uvicorn": "relay_project.server.uvicorn_launcher",
}


def main() -> int:
    asked = _arguments().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    launcher = importlib.import_module(LAUNCHERS[asked.server])  # first: daphne installs Twisted's reactor
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relay_project.settings")
    django.setup()
    env = load_env()
    module, _, name = asked.application.partition(":")
    options = ServerOptions(
        application=getattr(importlib.import_module(module), name),
        host=asked.host,
        port=asked.port,
        max_body_bytes=env.max_body_bytes,
        max_held_bytes=env.max_held_bytes,
        drain_limit_s=env.drain_limit_s,
        render_refusal=_refusal_renderer(),
        ready=_announcer(os.environ.get(READY_FD)),
    )
    serve: Callable[[ServerOptions], int] = launcher.serve
    tune_interpreter()
    return serve(options)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m relay_project.server", description=__doc__)
    parser.add_argument("--server", choices=sorted(LAUNCHERS), default="daphne")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--application", default="relay_project.asgi:application", help="module:attribute")
    return parser


def _refusal_renderer() -> RenderRefusal:
    """Loaded now, so that the first refusal is as quick as any."""
    from relay_project.rendering import Hearer, language_of, problem_response

    def render(error: Exception, accept_language: str) -> HttpResponse:
        return problem_response(error, Hearer(language=language_of(accept_language)))

    return render


def _announcer(ready_fd: str | None) -> Callable[[], None]:
    """Tells the supervisor, through the pipe that it has left open, that connections are accepted."""

    def announce() -> None:
        if ready_fd is not None:
            os.write(int(ready_fd), b"ready\n")
            os.close(int(ready_fd))

    return announce


if __name__ == "__main__":
    sys.exit(main())
