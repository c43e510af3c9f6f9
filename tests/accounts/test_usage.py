"""Records into rows, on the database that the settings name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import OperationalError, connection
from django.db.models import Sum
from msgspec.structs import replace
from pytest_django import DjangoAssertNumQueries

from accounts.models import PersonalToken, Team, UsageRow, User
from accounts.outbox import DatabaseAway, RecordsRefused
from accounts.tokens import make_token
from accounts.usage import UsageRecord, write_rows
from tests.accounts.outbox_fakes import a_record

pytestmark = pytest.mark.django_db


@pytest.fixture
def token() -> PersonalToken:
    team = Team.objects.create(name="search")
    user = User.objects.create(username="mina", team=team)
    new = make_token()
    return PersonalToken.objects.create(user=user, team=team, name="laptop", prefix=new.prefix, sha256=new.sha256)


def owned_by(token: PersonalToken, request_id: str = "r1") -> UsageRecord:
    return a_record(request_id, user_id=token.user_id, token_id=token.pk, team_id=token.team_id, outcome="completed")


def test_every_field_of_a_record_has_its_column() -> None:
    links = {"created_at_us": "created_at", "user_id": "user", "token_id": "token", "team_id": "team"}
    columns = {field.name for field in UsageRow._meta.get_fields()} - {"id"}
    assert {links.get(name, name) for name in UsageRecord.__struct_fields__} == columns


def test_a_record_is_read_back_as_it_was(token: PersonalToken) -> None:
    attempts = [{"provider": "gemini", "model": "flash", "outcome": "completed", "reason": "", "run_ms": 9}]
    write_rows([replace(owned_by(token), attempts=attempts, klass="batch", ttft_ms=0, measured="partial")])
    row = UsageRow.objects.get()
    assert (row.user_id, row.token_id, row.team_id) == (token.user_id, token.pk, token.team_id)
    assert row.created_at == datetime.fromtimestamp(1_790_000_000, tz=UTC)
    assert (row.attempts, row.klass, row.ttft_ms, row.measured) == (attempts, "batch", 0, "partial")
    assert row.prompt_tokens is None


def test_writing_the_same_records_again_changes_nothing(token: PersonalToken) -> None:
    write_rows([owned_by(token, "r1"), owned_by(token, "r2")])
    write_rows([replace(owned_by(token, "r1"), outcome="relay_lost"), owned_by(token, "r3")])
    assert dict(UsageRow.objects.values_list("request_id", "outcome")) == dict.fromkeys(["r1", "r2", "r3"], "completed")


def test_a_request_named_twice_in_one_batch_is_one_row(token: PersonalToken) -> None:
    write_rows([owned_by(token), replace(owned_by(token), outcome="relay_lost")])
    assert UsageRow.objects.get().outcome == "completed"


def test_the_count_of_shared_rejections_follows_the_latest_word() -> None:
    shared = a_record("rejected-t1-1", outcome="rejected")
    write_rows([replace(shared, refused_count=count) for count in (1, 2, 3)])
    write_rows([replace(shared, refused_count=40)])
    assert UsageRow.objects.aggregate(total=Sum("refused_count")) == {"total": 40}


def test_a_row_outlives_the_user_token_and_team_it_names(token: PersonalToken) -> None:
    record = owned_by(token)
    User.objects.all().delete()
    Team.objects.all().delete()
    write_rows([record])
    row = UsageRow.objects.get()
    assert (row.user_id, row.token_id, row.team_id) == (None, None, None)
    connection.check_constraints()


def test_what_does_not_fit_its_column_is_cut_and_not_lost() -> None:
    write_rows([a_record(outcome="rejected", model="m" * 10_000, client="nul \0 byte", charged_tokens=10**30)])
    row = UsageRow.objects.get()
    assert (row.model, row.client) == ("m" * 200, "nul  byte")
    assert row.charged_tokens == 2**63 - 1


def test_a_batch_of_five_hundred_is_written_in_few_queries(
    token: PersonalToken, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    records = [owned_by(token, f"r{number}") for number in range(500)]
    with django_assert_max_num_queries(60):  # SQLite takes at most 999 values at a time
        write_rows(records)
    assert UsageRow.objects.count() == 500


def test_a_record_no_database_takes_is_refused_and_a_database_away_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_no_calendar = a_record(outcome="completed", created_at_us=10**20)
    with pytest.raises(RecordsRefused):
        write_rows([in_no_calendar])

    def unreachable(*_: object, **__: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("accounts.usage.transaction.atomic", unreachable)
    with pytest.raises(DatabaseAway, match="connection refused"):
        write_rows([a_record(outcome="completed")])
