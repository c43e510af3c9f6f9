"""A probe starts at once or not at all, and a closing does not hold it up."""

from __future__ import annotations

import pytest

from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Granted, Left
from scheduling.core.spec import (
    Class,
    CredentialSpec,
    LaneRules,
    Measure,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
    Scope,
    WindowSpec,
)
from scheduling.core.tickets import Actual, Ask, Closure, TargetRef
from scheduling.core.verbs import Core

S = 1_000_000
NOW = Moment(1_000 * S, 1_790_000_000 * S)
MODEL = TargetRef("p", Scope.MODEL, "p/m")


def at(seconds: float) -> Moment:
    return Moment(NOW.us + round(seconds * S), NOW.wall_us + round(seconds * S))


def core(
    *, lanes: int = 2, windows: tuple[WindowSpec, ...] = (), keys: tuple[str, ...] = (), paused: bool = False
) -> Core:
    rules = LaneRules(lanes, None, 8, 60 * S, 300 * S, windows=windows)
    provider = ProviderSpec(
        "p",
        rules,
        {"p/m": ModelSpec("p/m", "p/m", rules, paused=paused)},
        tuple(CredentialSpec(key, key) for key in keys),
    )
    return Core(SchedulerSpec(1, RelaySpec(), {"p": provider}), NOW)


def ask(name: str, *, purpose: str = "call") -> Ask:
    klass = Class.BATCH if purpose == "probe" else Class.INTERACTIVE
    return Ask(ticket_id=name, provider="p", model="p/m", klass=klass, flow=name, purpose=purpose)


def close(scheduler: Core, target: TargetRef = MODEL, *, hours: float = 1) -> None:
    scheduler.close(Closure(target, NOW.wall_us + round(hours * 3600 * S), "exhausted", used_up=True), NOW)


def test_a_closing_does_not_hold_a_probe_up_and_still_holds_up_the_others() -> None:
    scheduler = core()
    close(scheduler)
    [granted] = scheduler.line_up(ask("probe", purpose="probe"), NOW).events
    assert isinstance(granted, Granted)
    [left] = scheduler.line_up(ask("caller"), at(5)).events
    assert isinstance(left, Left)
    assert left.code is Code.INSUFFICIENT_QUOTA


def test_a_probe_is_no_trial_the_others_wait_for_its_answer_however_long_it_takes() -> None:
    scheduler = core()
    close(scheduler)
    scheduler.line_up(ask("probe", purpose="probe"), NOW)
    scheduler.release("probe", Ending.REFUSED, Actual(), at(30))
    [left] = scheduler.line_up(ask("caller"), at(40)).events
    assert isinstance(left, Left)


@pytest.mark.parametrize(
    "full",
    [
        core(lanes=1),
        core(windows=(WindowSpec(Measure.REQUESTS, 1),)),
    ],
)
def test_without_room_on_a_lane_or_window_a_probe_goes_at_once_and_leaves_no_trace(full: Core) -> None:
    full.line_up(ask("running"), NOW)
    [left] = full.line_up(ask("probe", purpose="probe"), NOW).events
    assert isinstance(left, Left)
    assert full.snapshot(NOW).waiting == 0
    assert full.snapshot(NOW).running == 1


def test_a_paused_model_is_not_probed() -> None:
    [left] = core(paused=True).line_up(ask("probe", purpose="probe"), NOW).events
    assert isinstance(left, Left)


def test_a_probe_asks_with_the_key_that_is_closed_for_longest() -> None:
    scheduler = core(keys=("a", "b", "c"))
    close(scheduler, TargetRef("p", Scope.CREDENTIAL, "b"), hours=2)
    close(scheduler, TargetRef("p", Scope.CREDENTIAL, "c"), hours=1)
    [granted] = scheduler.line_up(ask("probe", purpose="probe"), NOW).events
    assert isinstance(granted, Granted)
    assert granted.credential_id == "b"


def test_a_probe_gives_everything_back() -> None:
    scheduler = core()
    close(scheduler)
    scheduler.line_up(ask("probe", purpose="probe"), NOW)
    scheduler.release("probe", Ending.SERVED, Actual(), at(1))
    assert scheduler.snapshot(at(1)).running == 0
    scheduler.reopen(MODEL, at(1))
    [granted] = scheduler.line_up(ask("caller"), at(1)).events
    assert isinstance(granted, Granted)
