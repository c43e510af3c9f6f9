"""Usage rows as calls to replay: what is taken, what is borrowed, what is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import PersonalToken, Team, User
from relay_project.what_if import arrivals as arrivals_module
from relay_project.what_if.arrivals import Arrivals, load_arrivals
from scheduling.core.spec import Class
from tests.relay_project.advisor.rows import book, row

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 5, 12, 0, tzinfo=UTC)
MODELS = {"p-m": "p/m", "p-n": "p/n"}


def at(seconds_ago: float, **fields: Any) -> Any:
    return row(now=NOW, ago=timedelta(seconds=seconds_ago), **fields)


def turned_away(seconds_ago: float, reason: str = "provider_queue_full", **fields: Any) -> Any:
    usual = {"outcome": "rejected", "run_ms": 0, "prompt_tokens": None, "completion_tokens": None}
    return at(seconds_ago, reason=reason, **{**usual, **fields})


def loaded(**options: Any) -> Arrivals:
    return load_arrivals("p", MODELS, NOW, **options)


def test_a_call_that_ran_has_its_own_time_and_tokens_in_order_of_arrival() -> None:
    book(at(10, run_ms=2000, klass="batch"), at(70, run_ms=3000, model="p-n"))
    first, second = loaded().calls
    assert (first.at_us, first.model, first.run_us) == (0, "p/n", 3_000_000)
    assert (second.at_us, second.klass, second.prompt_tokens, second.completion_tokens) == (
        60_000_000,
        Class.BATCH,
        10,
        5,
    )
    assert loaded().since == NOW - timedelta(seconds=70)


def test_one_that_was_turned_away_borrows_from_its_own_model_in_turn() -> None:
    book(at(100, run_ms=2000), at(90, run_ms=4000), at(80, run_ms=9000, model="p-n"))
    book(*(turned_away(70 - number) for number in range(3)))
    found = loaded()
    assert [call.run_us for call in found.calls[3:]] == [2_000_000, 4_000_000, 2_000_000]
    assert (found.borrowed, found.calls[3].prompt_tokens, found.calls[3].completion_tokens) == (3, 10, 5)


def test_a_model_that_never_ran_borrows_from_the_others() -> None:
    book(at(100, run_ms=2000), turned_away(70, model="p-n"))
    assert [call.run_us for call in loaded().calls] == [2_000_000] * 2


@pytest.mark.parametrize(
    "left_out",
    [
        {"reason": "token_limit_reached"},
        {"reason": "budget_exhausted"},
        {"reason": "request_exceeds_limit"},
        {"reason": "provider_rate_limited", "outcome": "refused", "run_ms": 90},
    ],
)
def test_what_no_lane_would_have_helped_is_left_out(left_out: dict[str, Any]) -> None:
    book(at(100), turned_away(70, **left_out))
    assert len(loaded().calls) == 1


def test_others_days_providers_models_and_our_own_probes_are_left_out() -> None:
    book(at(100), at(90_000), at(50, provider="q"), at(50, model="gone"), at(50, purpose="probe"))
    assert len(loaded().calls) == 1


def test_rejections_that_share_a_row_come_evenly_within_its_minute() -> None:
    book(at(120), turned_away(60, refused_count=4))
    assert [call.at_us // 1_000_000 for call in loaded().calls] == [0, 60, 75, 90, 105]
    assert loaded().borrowed == 4


def test_where_none_has_run_there_is_nothing_to_replay() -> None:
    book(turned_away(60))
    assert loaded() == Arrivals((), None, 1, 0)


def test_only_the_latest_are_replayed_and_it_is_told_how_many_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals_module, "MOST_CALLS", 5)
    book(*(at(100 - number, run_ms=1000 + number) for number in range(8)))
    found = loaded()
    assert (len(found.calls), found.came) == (5, 8)
    assert found.calls[-1].run_us == 1_007_000


def test_the_bound_holds_for_counted_rejections_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals_module, "MOST_CALLS", 5)
    book(at(120), turned_away(60, refused_count=100))
    found = loaded()
    assert (len(found.calls), found.came) == (5, 101)


def test_what_callers_set_aside_is_said_by_a_factor() -> None:
    book(at(100, completion_tokens=200))
    assert loaded(reserve=2.5).calls[0].cap_tokens == 500


def test_flows_and_limits_are_those_of_the_caller() -> None:
    team = Team.objects.create(name="t")
    user = User.objects.create(username="u", team=team)
    own = PersonalToken.objects.create(user=user, name="own", prefix="rk-1", sha256="1")
    service = PersonalToken.objects.create(user=user, team=team, name="service", prefix="rk-2", sha256="2")
    book(at(3, user=user, team=team, token=own), at(2, user=user, team=team, token=service), at(1))
    assert [(call.flow, call.limits) for call in loaded().calls] == [
        (f"user:{user.pk}", (f"user:{user.pk}", f"token:{own.pk}", f"team:{team.pk}")),
        (f"team:{team.pk}", (f"user:{user.pk}", f"token:{service.pk}", f"team:{team.pk}")),
        ("relay", ()),
    ]


def test_one_query_and_one_more_where_there_are_too_many(
    django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(*(at(100 - number) for number in range(8)))
    with django_assert_num_queries(1):
        loaded()
    monkeypatch.setattr(arrivals_module, "MOST_CALLS", 5)
    with django_assert_num_queries(2):
        loaded()
