"""How the relay's log lines look: one line each, a plain traceback under a bug, and never the values of variables.

structlog's own default draws tracebacks with every local variable in them: prompts, personal tokens and API keys in
plain, and seconds of work on the event loop for a request that is large or deep.
"""

from __future__ import annotations

import sys

import structlog


def configure_logs() -> None:
    """For all processes alike; called once, when the apps are ready."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.StackInfoRenderer(),
            structlog.dev.set_exc_info,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(
                colors=sys.stdout.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    )
