"""What a connection check or a test call came to, and what of it is written on the provider's row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from providers.contract import Refusal, RefusalKind
from providers.models import ConnectionState, Provider
from relay_project.errors import ProviderSaidNo, RelayError
from relay_project.problems import Problem, problem_of
from scheduling.errors import Rejection

# These say that the key, the address or the installation is wrong. All other noes (busy, used up, paused, no lane
# profile) say nothing about the connection, and leave its state and the model list as they are.
BREAKS_CONNECTION = frozenset(
    {
        RefusalKind.AUTH,
        RefusalKind.SERVER_ERROR,
        RefusalKind.TIMEOUT,
        RefusalKind.NOT_FOUND,
        RefusalKind.BAD_REQUEST,
    }
)
REASON_LETTERS = 500  # as many as the row takes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Facts only; `connection_words` says them in a person's language."""

    purpose: str = "check"  # check | test
    ok: bool
    stage: str = ""  # capacity | quota | auth | network | install | provider | configuration | relay | request
    code: str = ""  # a catalogue code
    queue_ms: int = 0
    run_ms: int = 0
    models: tuple[str, ...] = ()  # what a check found
    said: str = ""  # what the model answered a test call
    tokens: tuple[int | None, int | None] = (None, None)  # of a test call: prompt, completion
    dialect: str = ""  # set where no adapter speaks it
    problem: Problem | None = None
    refusal: Refusal | None = None

    @property
    def retry_after_ms(self) -> int | None:
        return None if self.problem is None else self.problem.retry_after_ms

    @property
    def breaks_connection(self) -> bool:
        if self.refusal is not None:
            return self.refusal.kind in BREAKS_CONNECTION
        return self.stage == "install"


def dialect_not_spoken(dialect: str) -> CheckReport:
    return CheckReport(ok=False, stage="install", dialect=dialect)


def report_of_error(
    error: Rejection | RelayError, *, purpose: str = "check", queue_ms: int = 0, run_ms: int = 0
) -> CheckReport:
    """`queue_ms` and `run_ms`: as measured until then; a rejection knows its own."""
    problem = problem_of(error)
    return CheckReport(
        purpose=purpose,
        ok=False,
        stage=_stage_of(error, problem, purpose),
        code=problem.code,
        queue_ms=error.told.queue_us // 1000 if isinstance(error, Rejection) else queue_ms,
        run_ms=0 if isinstance(error, Rejection) else run_ms,
        problem=problem,
        refusal=error.refusal if isinstance(error, ProviderSaidNo) else None,
    )


def _stage_of(error: Exception, problem: Problem, purpose: str) -> str:
    if isinstance(error, ProviderSaidNo):
        if error.refusal.kind is RefusalKind.AUTH:
            return "auth"
        if error.refusal.status is None:
            return "network"
    if purpose == "check" and problem.entry.stage == "request":
        return "provider"  # nobody's request is at fault: the question was the relay's own
    return problem.entry.stage


def write_down(slug: str, report: CheckReport, reason: str, now: datetime) -> None:
    """On the provider's row, without touching the configuration's version: nothing here changes how calls are made."""
    changes: dict[str, Any] = {"last_check_at": now, "last_check_ms": report.queue_ms + report.run_ms}
    if report.ok:
        changes |= {
            "connection_state": ConnectionState.VERIFIED,
            "verified_at": now,
            "failed_stage": "",
            "failed_reason": "",
            "upstream_models": list(report.models),
        }
    elif report.breaks_connection:
        changes |= {
            "connection_state": ConnectionState.FAILED,
            "failed_stage": report.stage,
            "failed_reason": reason[:REASON_LETTERS],
        }
    # update(), not save(): an admin may be editing the row, or have deleted it, meanwhile.
    Provider.objects.filter(slug=slug).update(**changes)
