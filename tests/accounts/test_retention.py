"""Usage rows are kept for as long as the settings say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.exceptions import ImproperlyConfigured
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import UsageRow
from accounts.tasks import delete_old_usage_rows, delete_rows_before
from relay_project.env import load_env

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def make_rows(*ages: timedelta) -> None:
    UsageRow.objects.bulk_create(
        UsageRow(request_id=f"r{number}", created_at=NOW - age, outcome="completed") for number, age in enumerate(ages)
    )


@pytest.mark.django_db
def test_rows_older_than_the_configured_days_go_and_the_others_stay(settings: Settings) -> None:
    settings.RELAY_USAGE_RETENTION_DAYS = 30
    make_rows(timedelta(days=29), timedelta(days=30), timedelta(days=30, seconds=1), timedelta(days=500))
    with time_machine.travel(NOW, tick=False):
        assert delete_old_usage_rows() == 2
        assert delete_old_usage_rows() == 0
    assert set(UsageRow.objects.values_list("request_id", flat=True)) == {"r0", "r1"}


@pytest.mark.django_db
def test_rows_go_in_batches_oldest_first(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    make_rows(*[timedelta(days=day) for day in range(1, 26)])
    with django_assert_num_queries(7):  # 3 × (pick, delete), and one look that finds none
        assert delete_rows_before(NOW, batch_rows=10) == 25


@pytest.mark.parametrize("value", ["0", "-1", "a year"])
def test_retention_must_be_a_whole_number_of_days(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RELAY_USAGE_RETENTION_DAYS", value)
    with pytest.raises(ImproperlyConfigured, match="RELAY_USAGE_RETENTION_DAYS"):
        load_env()


def test_retention_is_400_days_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELAY_USAGE_RETENTION_DAYS", raising=False)
    assert load_env().usage_retention_days == 400
