"""From rows to facts: on whichever database the tests run on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import UsageRow
from providers.models import Model, Provider
from relay_project.advisor.evidence import load_facts, to_look_at
from relay_project.advisor.facts import ModelFacts, ProviderFacts
from relay_project.advisor.percentiles import percentiles
from scheduling.models import ModelOverride
from tests.relay_project.advisor.rows import book, make_provider, row

pytestmark = pytest.mark.django_db


def facts() -> list[ProviderFacts]:
    return load_facts(to_look_at(Provider.objects.all()), timezone.now())


def only_model() -> ModelFacts:
    [[model]] = [one.models for one in facts()]
    return model


def test_percentiles_are_nearest_ranks_of_each_group(django_assert_num_queries: Any) -> None:
    book(*(row("a", run_ms=number) for number in range(1, 101)), *(row("b", run_ms=number) for number in range(1, 22)))
    with django_assert_num_queries(1):
        found = percentiles(UsageRow.objects.all(), "run_ms", ("provider",), (50, 95, 99))
    assert {group: one.values for group, one in found.items()} == {
        ("a",): {50: 50, 95: 95, 99: 99},
        ("b",): {50: 11, 95: 20, 99: 21},
    }
    assert [found[group].of for group in (("a",), ("b",))] == [100, 21]


def test_one_value_is_every_percentile() -> None:
    book(row("a", run_ms=7))
    found = percentiles(UsageRow.objects.all(), "run_ms", ("provider",), (50, 95))
    assert found[("a",)].values == {50: 7, 95: 7}


def test_no_more_than_the_latest_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relay_project.advisor.percentiles.latest.__defaults__", (10,))
    book(*(row("a", run_ms=number, ago=timedelta(seconds=number)) for number in range(1, 101)))
    assert percentiles(UsageRow.objects.all(), "run_ms", ("provider",), (95,))[("a",)].of == 10


def test_a_models_duration_is_the_p95_of_its_calls_of_the_last_day() -> None:
    make_provider()
    book(*(row(run_ms=number * 1000) for number in range(1, 101)))
    book(*(row(run_ms=900_000, ago=timedelta(days=2)) for _ in range(100)))
    assert (only_model().calls, only_model().p95_run_ms) == (100, 95_000)


@pytest.mark.parametrize("outcome", ["refused", "rejected", "queue_timeout", "client_gone", "relay_lost"])
def test_what_did_not_run_to_its_end_says_nothing_about_durations(outcome: str) -> None:
    make_provider()
    book(row(outcome=outcome, run_ms=5))
    assert (only_model().calls, only_model().p95_run_ms) == (0, None)


def test_calls_that_the_run_limit_stopped_are_counted_and_earlier_ones_are_not() -> None:
    make_provider(run_timeout_s=180)
    book(row(outcome="run_timeout", run_ms=180_002), row(outcome="run_timeout", run_ms=170_000), row())
    assert (only_model().timed_out, only_model().calls) == (1, 3)


def test_a_models_own_figures_rule() -> None:
    provider = make_provider(lanes=4, lanes_per_model=2, wait_timeout_s=60, run_timeout_s=300)
    ModelOverride.objects.create(
        profile=provider.lane_profile, model=Model.objects.get(), lanes_per_model=1, wait_timeout_s=90
    )
    model = only_model()
    assert (model.lanes, model.wait_timeout_s, model.run_timeout_s) == (1, 90, 300)


def test_a_provider_without_a_profile_has_no_figures() -> None:
    Provider.objects.create(slug="bare", name="Bare", vendor="openai", dialect="openai_chat")
    [bare] = facts()
    assert (bare.has_profile, bare.models, bare.lanes) == (False, (), None)


def test_models_that_are_off_are_left_out() -> None:
    make_provider()
    Model.objects.update(enabled=False)
    [one] = facts()
    assert one.models == ()


def test_five_queries_however_many_providers_and_calls_there_are(django_assert_num_queries: Any) -> None:
    for number in range(6):
        make_provider(f"p{number}")
        book(*(row(f"p{number}") for _ in range(30)))
    with django_assert_num_queries(5):
        assert len(facts()) == 6
