"""The last hour's waits and refusals, and what of a day's allowance is used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from providers.models import Model, Provider
from relay_project.advisor.evidence import to_look_at
from relay_project.advisor.traffic import Traffic, UsedOf, load_traffic
from scheduling.models import LaneWindow
from tests.relay_project.advisor.rows import book, make_provider, row

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 5, 12, 0, tzinfo=UTC)
HOURS = timedelta(hours=1)


def traffic(slug: str = "p") -> Traffic:
    return load_traffic(to_look_at(Provider.objects.all()), NOW)[slug]


def at(hours_ago: float, slug: str = "p", **fields: Any) -> Any:
    return row(slug, now=NOW, ago=HOURS * hours_ago, **fields)


def allow(provider: Provider, limit: int, **fields: Any) -> None:
    usual: dict[str, Any] = {
        "measure": "requests",
        "kind": "calendar",
        "period": "day",
        "zone": "UTC",
        "scope": "model",
    }
    LaneWindow.objects.create(profile=provider.lane_profile, limit=limit, **(usual | fields))


def test_waits_and_refusals_are_those_of_the_last_hour() -> None:
    make_provider()
    book(*(at(0.5, queue_ms=number * 100) for number in range(1, 21)), at(2, queue_ms=99_000))
    book(at(0.2, outcome="queue_timeout", queue_ms=60_000), at(0.2, outcome="rejected", refused_count=4))
    found = traffic()
    assert (found.requests, found.refused) == (25, 5)
    assert found.refused_share == 20
    assert found.waits.values[50] == 1000


def test_today_counts_from_midnight() -> None:
    make_provider()
    book(at(1, cost_microusd=7), at(11, cost_microusd=5), at(13, cost_microusd=1000))
    found = traffic()
    assert (found.requests_today, found.tokens_today, found.cost_microusd_today) == (2, 30, 12)


def test_without_prices_there_is_no_cost() -> None:
    make_provider()
    book(at(1))
    assert traffic().cost_microusd_today is None


def test_a_days_allowance_of_a_model_is_told_of_the_one_that_used_most() -> None:
    provider = make_provider()
    Model.objects.create(provider=provider, upstream_name="n", public_name="p-n")
    allow(provider, 250)
    book(at(1), *(at(2, model="p-n") for _ in range(3)), at(3, model="p-n", outcome="rejected"))
    assert traffic().used_of == UsedOf("requests", 3, 250, "p-n")


def test_an_allowance_of_the_whole_provider_is_used_by_all_models_together() -> None:
    provider = make_provider()
    allow(provider, 250, scope="provider")
    book(at(1), at(2, model="p-n"))
    assert traffic().used_of == UsedOf("requests", 2, 250)


def test_an_allowance_starts_at_midnight_in_its_own_zone() -> None:
    provider = make_provider()
    allow(provider, 250, zone="America/Los_Angeles")  # 12:00 UTC is 05:00 there: the day began at 07:00 UTC
    book(at(4.9), at(5.1), at(20))
    used_of = traffic().used_of
    assert used_of is not None
    assert used_of.used == 1


def test_tokens_of_a_day_are_counted_as_tokens() -> None:
    allow(make_provider(), 1_000_000, measure="total_tokens")
    book(at(1), at(2))
    assert traffic().used_of == UsedOf("total_tokens", 30, 1_000_000, "p-m")


def test_nothing_used_yet_is_nothing_of_the_limit() -> None:
    allow(make_provider(), 250)
    assert traffic().used_of == UsedOf("requests", 0, 250)


def test_three_queries_however_many_providers_there_are(django_assert_num_queries: Any) -> None:
    for number in range(5):
        allow(make_provider(f"p{number}"), 250, zone="UTC" if number % 2 else "Asia/Seoul")
        book(at(1, f"p{number}"))
    providers = to_look_at(Provider.objects.all())
    with django_assert_num_queries(3):
        assert len(load_traffic(providers, NOW)) == 6 - 1
