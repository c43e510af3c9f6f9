"""Connection check and test call: the relay's own calls, on the same lanes as everybody's.

A person's check is `interactive`, so it goes ahead of waiting normal and batch requests; it stops nothing that runs.
There is one check per provider at a time: a second press joins the first. What a check finds is written on the
provider's row, except where it found congestion or used-up quota: those say nothing about the connection.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from asgiref.sync import sync_to_async

from providers.contract import Deadlines, Refusal, RefusalKind, Target
from providers.models import ConnectionState, Provider
from relay_project.calls import Call
from relay_project.errors import ProviderSaidNo, RelayError
from relay_project.problems import Problem, problem_of
from relay_project.refusal_codes import said_no
from relay_project.rendering import Hearer, words_of
from relay_project.snapshot import Caller, Configuration, ModelEntry, ProviderEntry
from scheduling.core.spec import Class
from scheduling.core.tickets import Ask
from scheduling.errors import LaneProfileMissing, Rejection

if TYPE_CHECKING:
    from relay_project.wiring import RelayProcess

TEST_PROMPT = "Answer with the single word: ready"
TEST_MAX_TOKENS = 16

# What these find says that the connection or the installation is broken.
_BREAKS_CONNECTION = frozenset(
    {
        RefusalKind.AUTH,
        RefusalKind.SERVER_ERROR,
        RefusalKind.TIMEOUT,
        RefusalKind.NOT_FOUND,
        RefusalKind.BAD_REQUEST,
    }
)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check or test call came to, in words."""

    ok: bool
    stage: str  # "" | capacity | quota | auth | network | provider | configuration
    code: str  # "" or a catalogue code
    message: str
    queue_ms: int = 0
    run_ms: int = 0
    models: tuple[str, ...] = ()
    retry_after_ms: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)


class Connections:
    """Checks under way, one per provider."""

    def __init__(self, relay: RelayProcess) -> None:
        self._relay = relay
        self._under_way: dict[str, asyncio.Task[CheckReport]] = {}

    async def check(self, slug: str, language: str, *, klass: Class = Class.INTERACTIVE) -> CheckReport:
        """Check a provider's connection; joins the check that is under way."""
        running = self._under_way.get(slug)
        if running is None:
            running = asyncio.create_task(self._check(slug, language, klass))
            self._under_way[slug] = running
            running.add_done_callback(lambda _task: self._under_way.pop(slug, None))
        return await asyncio.shield(running)

    async def test_call(self, model_name: str, caller: Caller, language: str) -> CheckReport:
        """A tiny real request, on the lanes as class `normal`."""
        call = Call(
            caller=caller,
            hearer=Hearer("openai", language, f"test_{secrets.token_hex(12)}"),
            body=_test_body(model_name),
            purpose="test",
            klass=Class.NORMAL,
        )
        began_us = self._relay.clock.now_us()
        try:
            reply = await self._relay.use_case.answer(call)
            body = b"".join([part async for part in reply.stream])
        except (Rejection, RelayError) as error:
            return _report_of_error(error, language)
        queue_ms = int(dict(reply.headers)["x-relay-queue-ms"])
        total_ms = (self._relay.clock.now_us() - began_us) // 1000
        return CheckReport(True, "", "", _words_in(body), queue_ms=queue_ms, run_ms=total_ms - queue_ms)

    async def _check(self, slug: str, language: str, klass: Class) -> CheckReport:
        # A check reads the row as it is now: the admin may press it right after saving.
        await self._relay.keeper.refresh()
        configuration = self._relay.configuration
        try:
            found = await self._list_models(configuration, configuration.providers[slug], klass)
        except (Rejection, RelayError) as error:
            report = _report_of_error(error, language)
        else:
            report = found
        await sync_to_async(_write_down)(slug, report, self._now())
        return report

    async def _list_models(self, configuration: Configuration, provider: ProviderEntry, klass: Class) -> CheckReport:
        adapter = self._relay.adapters.get(provider.dialect)
        if adapter is None:
            return CheckReport(False, "configuration", "", f"No adapter speaks the dialect {provider.dialect!r} yet.")
        async with self._relay.coordinator.admit(self._ask(configuration, provider, klass)) as lease:
            began_us = self._relay.clock.now_us()
            target = _target(provider, lease.credential_id)
            silence_s = provider.silence_s
            deadlines = Deadlines(first_byte_s=silence_s, idle_s=silence_s, total_s=lease.rules.run_timeout_us / 1e6)
            listed = await adapter.list_models(target, deadlines)
            if isinstance(listed, Refusal):
                raise said_no(listed, lease.rules, provider=provider.slug, model="", now=self._now())
            run_ms = (self._relay.clock.now_us() - began_us) // 1000
            message = f"{len(listed)} models"
            return CheckReport(True, "", "", message, lease.queue_us // 1000, run_ms, tuple(listed))

    def _ask(self, configuration: Configuration, provider: ProviderEntry, klass: Class) -> Ask:
        model = _any_model(configuration, provider)
        return Ask(
            ticket_id=f"check_{secrets.token_hex(12)}",
            provider=provider.slug,
            model=model.key if model is not None else f"{provider.slug}/",
            klass=klass,
            flow="relay:checks",
            owner="relay",
            purpose="check",
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._relay.clock.wall_us() / 1e6, UTC)


def _any_model(configuration: Configuration, provider: ProviderEntry) -> ModelEntry | None:
    """A check stands in a line too; any of the provider's models will do."""
    return next((model for model in configuration.models.values() if model.provider == provider.slug), None)


def _target(provider: ProviderEntry, credential_id: str | None) -> Target:
    return Target(
        provider=provider.slug,
        vendor=provider.vendor,
        base_url=provider.base_url,
        model="",
        credential=provider.credentials.get(credential_id or ""),
        headers=provider.headers,
    )


def _report_of_error(error: Exception, language: str) -> CheckReport:
    problem = problem_of(error)
    queue_us = error.told.queue_us if isinstance(error, Rejection) else 0
    return CheckReport(
        ok=False,
        stage=_stage_of(error, problem),
        code=problem.code,
        message=words_of(problem, language),
        queue_ms=queue_us // 1000,
        retry_after_ms=problem.retry_after_ms,
        detail={"breaks_connection": _breaks_connection(error)},
    )


def _stage_of(error: Exception, problem: Problem) -> str:
    if isinstance(error, ProviderSaidNo):
        if error.refusal.kind is RefusalKind.AUTH:
            return "auth"
        if error.refusal.status is None:
            return "network"
    return problem.entry.stage


def _breaks_connection(error: Exception) -> bool:
    if isinstance(error, ProviderSaidNo):
        return error.refusal.kind in _BREAKS_CONNECTION
    return isinstance(error, LaneProfileMissing)


def _write_down(slug: str, report: CheckReport, now: datetime) -> None:
    """Congestion and used-up quota leave the connection's state and the model list as they are."""
    row = Provider.objects.get(slug=slug)
    row.last_check_at, row.last_check_ms = now, report.queue_ms + report.run_ms
    changed = ["last_check_at", "last_check_ms"]
    if report.ok:
        row.connection_state, row.verified_at = ConnectionState.VERIFIED, now
        row.failed_stage = row.failed_reason = ""
        row.upstream_models = list(report.models)
        changed += ["connection_state", "verified_at", "failed_stage", "failed_reason", "upstream_models"]
    elif report.detail.get("breaks_connection", True):
        row.connection_state = ConnectionState.FAILED
        row.failed_stage, row.failed_reason = report.stage, report.message[:500]
        changed += ["connection_state", "failed_stage", "failed_reason"]
    row.save(update_fields=changed)


def _test_body(model_name: str) -> bytes:
    return msgspec.json.encode(
        {
            "model": model_name,
            "max_tokens": TEST_MAX_TOKENS,
            "messages": [{"role": "user", "content": TEST_PROMPT}],
        }
    )


def _words_in(body: bytes) -> str:
    """What the model said, for a person to read."""
    try:
        return str(msgspec.json.decode(body)["choices"][0]["message"]["content"])
    except (msgspec.DecodeError, KeyError, IndexError, TypeError):
        return ""
