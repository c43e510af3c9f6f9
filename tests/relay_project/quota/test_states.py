"""Used-up states: closed for everyone, never stuck, opened by any success."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from providers.contract import Refusal, RefusalKind, RefusalScope
from relay_project.quota.states import OpenState, Place, QuotaStates
from relay_project.tasks import TaskOwner
from scheduling.clock import FakeClock
from scheduling.core.spec import OnBriefRefusal, Scope
from scheduling.core.tickets import Closure, TargetRef
from tests.relay_project.quota.test_consequences import rules

PRO = Place("gemini", "gemini/pro", "gemini/pro", "1", "account", account_wide=False)
MODEL = TargetRef("gemini", Scope.MODEL, "gemini/pro")
ACCOUNT = TargetRef("gemini", Scope.CREDENTIAL, "account")
KEY = TargetRef("gemini", Scope.CREDENTIAL, "1")


class Gate:
    def __init__(self) -> None:
        self.closed: list[Closure] = []
        self.opened: list[TargetRef] = []

    def close_target(self, closure: Closure) -> None:
        self.closed.append(closure)

    def reopen_target(self, target: TargetRef) -> None:
        self.opened.append(target)


class Rows:
    def __init__(self) -> None:
        self.kept: list[OpenState] = []
        self.cleared: list[TargetRef] = []

    async def keep(self, state: OpenState) -> None:
        self.kept.append(state)

    async def clear(self, target: TargetRef, why: str, now: datetime) -> None:
        self.cleared.append(target)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.gate, self.rows = Gate(), Rows()
        self.states = QuotaStates(self.gate, self.rows, TaskOwner(self.clock))

    def used_up(self, seconds: float = 3600) -> Refusal:
        now = datetime.fromtimestamp(self.clock.wall_us() / 1e6, UTC)
        return Refusal(RefusalKind.EXHAUSTED, RefusalScope.DAY, reset_at=now + timedelta(seconds=seconds))


async def test_used_up_closes_the_model_and_is_written_down() -> None:
    world = World()
    world.states.refused(PRO, world.used_up(), rules())
    await world.clock.advance(0)
    [closure] = world.gate.closed
    assert (closure.target, closure.used_up) == (MODEL, True)
    assert closure.until_wall_us == world.clock.wall_us() + 3_600_000_000
    assert [state.target for state in world.rows.kept] == [MODEL]


async def test_a_re_closing_lengthens_and_never_shortens() -> None:
    world = World()
    for seconds in (3600, 60, 7200):
        world.states.refused(PRO, world.used_up(seconds), rules())
    await world.clock.advance(0)
    assert [round((s.until_wall_us - s.since_wall_us) / 1e6) for s in world.rows.kept] == [3600, 7200]
    assert world.states.open[MODEL].until_wall_us == world.clock.wall_us() + 7_200_000_000


async def test_a_brief_refusal_closes_without_a_row() -> None:
    world = World()
    world.states.refused(PRO, Refusal(RefusalKind.RATE_LIMITED, retry_after_s=2), rules())
    await world.clock.advance(0)
    assert [closure.used_up for closure in world.gate.closed] == [False]
    assert (world.rows.kept, world.states.open) == ([], {})


async def test_a_refusal_that_is_passed_on_closes_nothing() -> None:
    world = World()
    refusal = Refusal(RefusalKind.RATE_LIMITED, retry_after_s=2)
    world.states.refused(PRO, refusal, rules(on_brief_refusal=OnBriefRefusal.PASS_ON))
    assert world.gate.closed == []


async def test_a_bad_key_closes_that_key_only() -> None:
    world = World()
    world.states.refused(PRO, Refusal(RefusalKind.AUTH, status=401), rules())
    assert [closure.target for closure in world.gate.closed] == [KEY]


async def test_without_a_key_an_account_limit_closes_the_provider() -> None:
    world = World()
    cli = Place("codex", "codex/gpt", "codex/gpt", None, "", account_wide=True)
    world.states.refused(cli, world.used_up(), rules())
    assert [closure.target for closure in world.gate.closed] == [TargetRef("codex", Scope.PROVIDER)]


@pytest.mark.parametrize("target", [MODEL, ACCOUNT, KEY, TargetRef("gemini", Scope.PROVIDER)])
async def test_any_success_clears_whatever_said_that_the_place_is_closed(target: TargetRef) -> None:
    world = World()
    world.states.follow([OpenState(target, world.clock.wall_us() + 1_000_000, "exhausted")])
    world.states.succeeded(PRO)
    await world.clock.advance(0)
    assert world.gate.opened == [target]
    assert world.rows.cleared == [target]
    assert world.states.open == {}


async def test_a_success_elsewhere_clears_nothing() -> None:
    world = World()
    world.states.refused(PRO, world.used_up(), rules())
    world.states.succeeded(Place("gemini", "gemini/flash", "gemini/flash", "1", "account", account_wide=False))
    assert MODEL in world.states.open


async def test_rows_closed_or_cleared_elsewhere_are_followed() -> None:
    world = World()
    state = OpenState(MODEL, world.clock.wall_us() + 1_000_000, "exhausted")
    world.states.follow([state])
    world.states.follow([state])
    assert [closure.target for closure in world.gate.closed] == [MODEL]
    await world.clock.advance(0.5)
    world.states.follow([])
    assert world.gate.opened == [MODEL]
    assert world.states.open == {}


async def test_what_was_closed_here_a_moment_ago_is_not_opened_because_its_row_is_still_being_written() -> None:
    world = World()
    world.states.refused(PRO, world.used_up(), rules())
    world.states.follow([])
    assert MODEL in world.states.open
    await world.clock.advance(6)
    world.states.follow([])
    assert world.gate.opened == [MODEL]


async def test_faults_over_a_window_open_the_breaker_and_a_single_one_does_not() -> None:
    world = World()
    fault = Refusal(RefusalKind.SERVER_ERROR, status=500)
    for _ in range(4):
        world.states.refused(PRO, fault, rules())
    assert not world.states.is_tripped(PRO.model)
    world.states.refused(PRO, fault, rules())
    assert world.states.is_tripped(PRO.model)
    assert world.gate.closed == []  # who names the model still gets there
    await world.clock.advance(10)
    assert not world.states.is_tripped(PRO.model)


async def test_breakers_of_ten_thousand_targets_are_not_remembered_for_ever() -> None:
    world = World()
    for number in range(1000):
        place = Place("p", f"p/{number}", f"p/{number}", None, "", account_wide=False)
        world.states.refused(place, Refusal(RefusalKind.SERVER_ERROR), rules())
    await world.clock.advance(200)
    world.states.refused(PRO, Refusal(RefusalKind.SERVER_ERROR), rules())
    assert len(world.states._breakers) == 1
