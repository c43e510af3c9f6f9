"""Connection check and test call: the relay's own calls, on the same lanes as everybody's.

A person's check is `interactive`, so it goes ahead of waiting normal and batch requests; it stops nothing that runs.
There is one check per provider at a time: a second press joins the first. What a check finds is written on the
provider's row, except where it found congestion or used-up quota: those say nothing about the connection. A check
leaves no usage row, for nobody has used anything; a test call is a request like any other and leaves one.

A disabled provider can be checked (that is how one is made ready); its models take no calls, so it cannot be test
called. A paused provider takes nothing new, a check included: it is told so, and nothing is changed.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
from asgiref.sync import sync_to_async

from accounts.outbox.record import UsageRecord
from providers.contract import Deadlines, Refusal, Target
from relay_project.attempts import while_held
from relay_project.calls import Call
from relay_project.connection_report import CheckReport, dialect_not_spoken, report_of_error, write_down
from relay_project.connection_run import Run
from relay_project.connection_words import message_of
from relay_project.errors import ProviderSaidNo, RelayError
from relay_project.refusal_codes import said_no
from relay_project.relay import Parts, Relay
from relay_project.rendering import Hearer
from relay_project.snapshot import Caller, ProviderEntry, no_model_key
from relay_project.story import Books
from scheduling.coordinator import Lease
from scheduling.core.charge import Ending
from scheduling.core.snapshot import ModelView
from scheduling.core.spec import Class
from scheduling.core.tickets import Ask
from scheduling.errors import Rejection

TEST_PROMPT = "Answer with the single word: ready"
TEST_MAX_TOKENS = 16
NEVER_MS = 2**62


class Connections:
    """Checks and test calls of this process."""

    def __init__(self, parts: Parts, refresh: Callable[[], Awaitable[None]]) -> None:
        self._parts = parts
        self._refresh = refresh
        self._clock = parts.tasks.clock
        self._checks: dict[str, Run] = {}  # by provider, those under way
        self._runs: set[Run] = set()

    async def close(self) -> None:
        tasks = [run.task for run in self._runs]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def check(self, slug: str, language: str, *, klass: Class = Class.INTERACTIVE) -> Run:
        """Check a provider's connection, or join the check that is under way."""
        under_way = self._checks.get(slug)
        if under_way is not None:
            return under_way
        run = self._checks[slug] = self._start(lambda run: self._check(slug, language, klass, run), outlives=True)
        run.task.add_done_callback(lambda _task: self._checks.pop(slug, None))
        return run

    def test_call(self, model_name: str, caller: Caller, language: str) -> Run:
        """A tiny real request, on the lanes as class `normal`. `model_name`: a public name."""
        return self._start(lambda run: self._test_call(model_name, caller, language, run), outlives=False)

    def _start(self, work: Callable[[Run], Coroutine[Any, Any, CheckReport]], *, outlives: bool) -> Run:
        run = Run(self._clock, work, outlives=outlives)
        self._runs.add(run)
        run.task.add_done_callback(lambda _task: self._runs.discard(run))
        return run

    async def _test_call(self, model_name: str, caller: Caller, language: str, run: Run) -> CheckReport:
        books = _ReadAlong(self._parts.books, run)
        call = Call(
            caller=caller,
            hearer=Hearer("openai", language, f"test_{secrets.token_hex(12)}"),
            body=_test_body(model_name),
            purpose="test",
            klass=Class.NORMAL,
            watch=run.waits,
        )
        await self._refresh()
        try:
            reply = await Relay(replace(self._parts, books=books)).answer(call)
            async with aclosing(cast(Any, reply.stream)) as stream:
                body = b"".join([part async for part in stream])
        except (Rejection, RelayError) as error:
            return report_of_error(error, purpose="test", queue_ms=books.settled.queue_ms, run_ms=books.settled.run_ms)
        row = books.settled
        return CheckReport(
            purpose="test",
            ok=True,
            said=_words_in(body),
            queue_ms=row.queue_ms,
            run_ms=row.run_ms,
            tokens=(row.prompt_tokens, row.completion_tokens),
        )

    async def _check(self, slug: str, language: str, klass: Class, run: Run) -> CheckReport:
        # A check reads the row as it is now: the admin may press it right after saving.
        await self._refresh()
        provider = self._parts.configuration().providers[slug]
        report = await self._list_models(provider, klass, run)
        await sync_to_async(write_down)(slug, report, message_of(report, language), self._now())
        return report

    async def _list_models(self, provider: ProviderEntry, klass: Class, run: Run) -> CheckReport:
        if provider.dialect not in self._parts.adapters:
            return dialect_not_spoken(provider.dialect)
        try:
            lease = await self._parts.coordinator.acquire(self._ask(provider, klass), run.waits)
        except Rejection as rejection:
            return report_of_error(rejection)
        run.starts()
        began_us, queue_ms = self._clock.now_us(), lease.queue_us // 1000
        try:
            models = await while_held(lease, self._listed(provider, lease))
        except (Rejection, ProviderSaidNo) as error:
            return report_of_error(error, queue_ms=queue_ms, run_ms=self._passed_ms(began_us))
        finally:
            lease.release()
        return CheckReport(ok=True, queue_ms=queue_ms, run_ms=self._passed_ms(began_us), models=tuple(models))

    async def _listed(self, provider: ProviderEntry, lease: Lease) -> list[str]:
        adapter = self._parts.adapters[provider.dialect]
        silence_s = provider.silence_s
        deadlines = Deadlines(first_byte_s=silence_s, idle_s=silence_s, total_s=lease.rules.run_timeout_us / 1e6)
        listed = await adapter.list_models(_target(provider, lease.credential_id), deadlines)
        if isinstance(listed, Refusal):
            lease.settle(ending=Ending.FAILED if listed.status is None else Ending.REFUSED)
            raise said_no(listed, lease.rules, provider=provider.slug, model="", now=self._now())
        lease.settle()
        return listed

    def _ask(self, provider: ProviderEntry, klass: Class) -> Ask:
        return Ask(
            ticket_id=f"check_{secrets.token_hex(12)}",
            provider=provider.slug,
            model=self._quickest_line(provider.slug),
            klass=klass,
            flow="relay:checks",
            owner="relay",
            purpose="check",
        )

    def _quickest_line(self, slug: str) -> str:
        """A check stands in a line too; any of the provider's models will do, so the one that lets it start first."""
        views = {view.key: view for view in self._parts.coordinator.snapshot().providers}
        models = views[slug].models if slug in views else ()
        return min(models, key=_hindrance).key if models else no_model_key(slug)

    def _passed_ms(self, began_us: int) -> int:
        return (self._clock.now_us() - began_us) // 1000

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_us() / 1e6, UTC)


class _ReadAlong:
    """The books of one test call: its row goes where all go, and its figures are read on the way."""

    def __init__(self, books: Books, run: Run) -> None:
        self._books = books
        self._run = run
        self._settled: UsageRecord | None = None

    @property
    def settled(self) -> UsageRecord:
        """The row, as soon as the call has ended."""
        assert self._settled is not None, "a call that has ended has settled"
        return self._settled

    def intend(self, record: UsageRecord) -> None:
        self._run.starts()
        self._books.intend(record)

    def settle(self, record: UsageRecord) -> None:
        self._settled = record
        self._books.settle(record)


def _hindrance(model: ModelView) -> tuple[bool, bool, int, int, int]:
    """Closed or paused ones last, then those without a free lane, then by pace, then by how many are there."""
    full = model.limit is not None and model.running >= model.limit
    next_start_ms = NEVER_MS if model.next_start_ms is None else model.next_start_ms
    return (
        model.paused or model.closed_until_ms is not None,
        full,
        next_start_ms,
        model.waiting,
        model.running,
    )


def _target(provider: ProviderEntry, credential_id: str | None) -> Target:
    return Target(
        provider=provider.slug,
        vendor=provider.vendor,
        base_url=provider.base_url,
        model="",
        credential=provider.credentials.get(credential_id or ""),
        headers=provider.headers,
    )


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
