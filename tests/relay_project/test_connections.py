"""Connection checks and test calls on the lanes of everybody: who goes first, who joins, what is told and written."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from accounts.outcomes import Outcome
from providers.contract import Deadlines, Refusal, RefusalKind, Target
from relay_project import connections as connections_module
from relay_project.connection_report import CheckReport
from relay_project.connection_run import Phase, Progress, Run
from relay_project.connection_words import message_of, phase_words
from relay_project.connections import Connections
from scheduling.core.spec import Class, ProviderSpec
from tests.relay_project.use_case_fakes import CALLER, STOP, TEXT, WHOLE, World

OUT_OF_TIME = "Waited in line until the time limit. Call again when the running requests (a connection check included)"
OUT_OF_TIME_KO = "앞선 요청이 끝나기를 기다리다 대기 시간이 초과됐습니다."


class Listing:
    """An upstream whose list of models can be held back, or refused."""

    dialect = "openai_chat"

    def __init__(self, world: World) -> None:
        self.chat = world.upstream.chat
        self.answer: list[str] | Refusal = ["m", "n"]
        self.let_go = asyncio.Event()
        self.asked = 0

    async def list_models(self, target: Target, deadlines: Deadlines) -> list[str] | Refusal:
        self.asked += 1
        await self.let_go.wait()
        return self.answer


class Desk:
    """Connections over a world, and what they would have written on the provider's row."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.listing = Listing(world)
        self.written: list[tuple[str, CheckReport, str]] = []
        parts = replace(world.parts, adapters={"openai_chat": self.listing})
        self.connections = Connections(parts, self._refresh)
        monkeypatch.setattr(connections_module, "write_down", self._write_down)

    async def _refresh(self) -> None:
        return None

    def _write_down(self, slug: str, report: CheckReport, reason: str, now: object) -> None:
        self.written.append((slug, report, reason))

    def check(self, language: str = "en", klass: Class = Class.INTERACTIVE) -> Run:
        return self.connections.check("one", language, klass=klass)

    def test_call(self, model: str = "one") -> Run:
        return self.connections.test_call(model, CALLER, "en")

    async def holding(self) -> Run:
        """A check that holds its lane until `let_go`."""
        run = self.check()
        await self.world.until(lambda: self.listing.asked == 1)
        return run


async def desk_of(monkeypatch: pytest.MonkeyPatch, *scripts: list[bytes] | Refusal, **figures: object) -> Desk:
    return Desk(await World.open(*(scripts or ([WHOLE],)), **figures), monkeypatch)


async def test_a_check_finds_the_models_and_says_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch)
    run = await desk.holding()
    await desk.world.clock.advance(0.4)
    desk.listing.let_go.set()
    report = await run.report()
    assert (report.ok, report.models, report.queue_ms, report.run_ms) == (True, ("m", "n"), 0, 400)
    assert [(slug, written.ok) for slug, written, _ in desk.written] == [("one", True)]
    assert desk.world.books.rows == []
    assert desk.world.is_quiet()


async def test_a_second_press_joins_the_first_and_a_later_one_asks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch)
    first = await desk.holding()
    assert desk.check("ko") is first
    desk.listing.let_go.set()
    await first.report()
    await desk.check().report()
    assert desk.listing.asked == 2


async def test_checks_of_two_providers_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch)
    await desk.holding()
    desk.connections.check("two", "en")
    await desk.world.until(lambda: desk.listing.asked == 2)


async def test_a_call_and_a_test_call_behind_a_long_check_wait_to_the_limit_and_are_told_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = await desk_of(monkeypatch)
    check = await desk.holding()
    call = asyncio.ensure_future(desk.world.ask())
    test = desk.test_call()
    await desk.world.until(lambda: desk.world.coordinator.snapshot().waiting == 2)
    await desk.world.clock.advance(3)
    report = await test.report()
    assert (report.code, report.stage, report.queue_ms, report.run_ms) == (
        "provider_queue_timeout",
        "capacity",
        2000,
        0,
    )
    assert OUT_OF_TIME in message_of(report, "en")
    assert OUT_OF_TIME_KO in message_of(report, "ko")
    assert "provider_queue_timeout" in str(await asyncio.gather(call, return_exceptions=True))
    rows = {row.purpose: (row.queue_ms, row.run_ms, row.stage, row.reason) for row in desk.world.books.rows}
    assert rows == dict.fromkeys(("call", "test"), (2000, 0, "capacity", "provider_queue_timeout"))
    desk.listing.let_go.set()
    assert (await check.report()).ok
    assert desk.world.is_quiet()


async def test_a_check_behind_a_long_call_waits_to_the_limit_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = await desk_of(monkeypatch, [TEXT, asyncio.Event()])
    call = asyncio.ensure_future(desk.world.ask())
    await desk.world.until(lambda: desk.world.upstream.open == 1)
    run = desk.check()
    await desk.world.until(lambda: desk.world.coordinator.snapshot().waiting == 1)
    await desk.world.clock.advance(3)
    report = await run.report()
    assert (report.code, report.stage, report.queue_ms, report.run_ms) == (
        "provider_queue_timeout",
        "capacity",
        2000,
        0,
    )
    assert not report.breaks_connection
    assert not call.done(), "it stops nothing that runs"
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert desk.world.is_quiet()


async def test_a_persons_check_goes_ahead_of_waiting_normal_and_batch_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = asyncio.Event()
    desk = await desk_of(monkeypatch, [TEXT, gate, STOP], wait_timeout_us=60_000_000)
    running = asyncio.ensure_future(desk.world.ask())
    await desk.world.until(lambda: desk.world.upstream.open == 1)
    waiting = [
        asyncio.ensure_future(desk.world.ask(desk.world.call(headers={"x-relay-class": klass})))
        for klass in ("normal", "batch")
    ]
    await desk.world.until(lambda: desk.world.coordinator.snapshot().waiting == 2)
    run = desk.check()
    await desk.world.until(lambda: desk.world.coordinator.snapshot().waiting == 3)
    gate.set()
    await desk.world.until(lambda: desk.listing.asked == 1)
    assert running.done()
    assert len(desk.world.upstream.asked) == 1, "the others still wait"
    desk.listing.let_go.set()
    assert (await run.report()).ok
    await asyncio.gather(*waiting)
    assert desk.world.is_quiet()


@pytest.mark.parametrize(
    ("refusal", "stage", "breaks"),
    [
        (Refusal(RefusalKind.AUTH, status=401, message="Incorrect API key"), "auth", True),
        (Refusal(RefusalKind.SERVER_ERROR, evidence="connection_refused: OSError"), "network", True),
        (Refusal(RefusalKind.TIMEOUT, evidence="connect_timeout"), "network", True),
        (Refusal(RefusalKind.NOT_FOUND, status=404), "provider", True),
        (Refusal(RefusalKind.RATE_LIMITED, status=429, retry_after_s=7), "provider", False),
        (Refusal(RefusalKind.OVERLOADED, status=503), "provider", False),
        (Refusal(RefusalKind.EXHAUSTED, status=429), "quota", False),
        (Refusal(RefusalKind.BILLING, status=402), "quota", False),
    ],
)
async def test_only_what_is_wrong_with_the_connection_counts_against_it(
    monkeypatch: pytest.MonkeyPatch, refusal: Refusal, stage: str, breaks: bool
) -> None:
    desk = await desk_of(monkeypatch)
    desk.listing.answer = refusal
    desk.listing.let_go.set()
    report = await desk.check().report()
    assert (report.ok, report.stage, report.breaks_connection) == (False, stage, breaks)
    assert message_of(report, "en")
    assert message_of(report, "ko") != message_of(report, "en")
    assert desk.world.is_quiet()


async def test_a_provider_whose_dialect_nobody_speaks_is_told_so_and_waits_for_no_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = await desk_of(monkeypatch)
    one = desk.world.configuration.providers["one"]
    desk.world.configuration = replace(desk.world.configuration, providers={"one": replace(one, dialect="fal")})
    report = await desk.check().report()
    assert (report.ok, report.stage) == (False, "install")
    assert "fal" in message_of(report, "en")
    assert desk.written[0][2] == message_of(report, "en")


async def test_without_a_lane_profile_the_check_says_so_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch)
    spec = desk.world.configuration.scheduler
    assert spec is not None
    desk.world.coordinator.configure(replace(spec, providers={"one": ProviderSpec(key="one", rules=None)}))
    report = await desk.check().report()
    assert (report.code, report.stage, report.breaks_connection) == ("lane_profile_missing", "configuration", False)


async def test_a_paused_provider_is_not_asked_and_keeps_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch)
    spec = desk.world.configuration.scheduler
    assert spec is not None
    desk.world.coordinator.configure(
        replace(spec, providers=spec.providers | {"one": replace(spec.providers["one"], paused=True)})
    )
    report = await desk.check().report()
    assert (report.code, report.breaks_connection, desk.listing.asked) == ("provider_paused", False, 0)


async def test_a_test_call_tells_what_the_model_said_and_leaves_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch)
    report = await desk.test_call().report()
    assert (report.ok, report.said, report.tokens) == (True, "hi", (5, 1))
    [row] = desk.world.books.rows
    assert (row.purpose, row.klass, row.user_id, row.outcome) == ("test", "normal", 7, Outcome.COMPLETED)


async def test_a_test_call_that_is_refused_tells_how_long_it_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch, Refusal(RefusalKind.AUTH, status=401, message="no such key"))
    report = await desk.test_call().report()
    assert (report.ok, report.stage, report.code) == (False, "auth", "provider_unavailable")
    assert message_of(report, "en") == "The provider refused the API key: no such key"
    assert desk.world.is_quiet()


async def test_whoever_looks_sees_the_wait_every_second_then_the_run_then_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = await desk_of(monkeypatch, [TEXT, asyncio.Event()], wait_timeout_us=60_000_000)
    call = asyncio.ensure_future(desk.world.ask())
    await desk.world.until(lambda: desk.world.upstream.open == 1)
    run = desk.check()
    seen: list[Progress] = []
    looking = asyncio.ensure_future(_look(run, seen))
    await desk.world.until(lambda: any(progress.waiting for progress in seen))
    await desk.world.clock.advance(2)
    words = [phase_words(progress, "en") for progress in seen if progress.waiting]
    assert words[-1] == "Waiting… starts when the running ones end (running 1/1 · waiting 1 · 2 s gone)"
    assert len(set(words)) == 3, "0, 1 and 2 seconds"
    call.cancel()
    await desk.world.until(lambda: desk.listing.asked == 1)
    desk.listing.let_go.set()
    await looking
    assert [progress.phase for progress in seen][-2:] == [Phase.RUNNING, Phase.DONE]
    assert seen[-1].report is not None
    assert seen[-1].report.ok


async def _look(run: Run, seen: list[Progress]) -> None:
    async for progress in run.progress():
        seen.append(progress)


async def test_who_stops_looking_ends_a_test_call_but_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desk_of(monkeypatch, [TEXT, asyncio.Event()])
    test, check = desk.test_call(), desk.connections.check("two", "en")
    await desk.world.until(lambda: desk.listing.asked == 1 and len(desk.world.upstream.asked) == 1)
    for run in (test, check):
        run.left()
    await asyncio.gather(test.task, return_exceptions=True)
    assert test.task.cancelled()
    assert not check.task.done()
    assert desk.world.upstream.open == 0
    await desk.connections.close()
    assert desk.world.is_quiet()


async def test_a_check_that_is_stopped_by_an_administrator_ends_at_once_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = await desk_of(monkeypatch)
    run = await desk.holding()
    [lease] = desk.world.coordinator.snapshot().leases
    await desk.world.coordinator.cancel(lease.id)
    report = await run.report()
    assert (report.code, report.breaks_connection) == ("ticket_cancelled", False)
    assert desk.world.is_quiet()
