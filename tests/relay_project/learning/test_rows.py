"""Findings and answer lengths as rows: shared, remembered, bounded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import UsageRow, User
from relay_project.learning import seeding
from relay_project.learning.rows import read_findings, write_findings
from relay_project.learning.seeding import recent_lengths
from relay_project.models import LearnedLimit
from scheduling.core.learned import Finding, LimitKey, Source

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOW_US = round(NOW.timestamp() * 1e6)
HOUR_US = 3_600_000_000
KEY = LimitKey("p", Source.TOLD, "total_tokens", 60_000_000, "p/m", "acme")


def finding(figure: int, heard_us: int = NOW_US) -> Finding:
    return Finding(figure, 60_000, NOW_US - 7, heard_us, heard_us + HOUR_US, "header")


def test_what_is_written_is_read_back_exactly() -> None:
    write_findings({KEY: finding(30_000)}, 1, NOW)
    shared = read_findings(NOW)
    assert (shared.findings, shared.revision) == ({KEY: finding(30_000)}, 1)


def test_the_revision_grows_with_every_change_and_never_goes_back() -> None:
    write_findings({KEY: finding(30_000)}, 5, NOW)
    write_findings({KEY: finding(20_000, NOW_US + 1)}, 1, NOW)
    assert read_findings(NOW).revision == 6
    write_findings({KEY: None}, 1, NOW + timedelta(minutes=1))
    shared = read_findings(NOW + timedelta(minutes=1))
    assert (shared.findings, shared.revision) == ({}, 7)


def test_an_older_word_does_not_undo_a_later_one() -> None:
    write_findings({KEY: finding(20_000, NOW_US + 10)}, 1, NOW)
    write_findings({KEY: finding(30_000, NOW_US)}, 1, NOW)
    assert [one.figure for one in read_findings(NOW).findings.values()] == [20_000]


def test_a_row_is_over_when_its_time_is() -> None:
    write_findings({KEY: finding(30_000)}, 1, NOW)
    assert read_findings(NOW + timedelta(hours=1)).findings == {}


def test_rows_that_are_long_over_go_but_the_revision_stays() -> None:
    other = LimitKey("p", Source.TOLD, "requests", 60_000_000, "p/m")
    write_findings({KEY: finding(30_000)}, 1, NOW)
    later = NOW + timedelta(days=3)
    write_findings({other: None}, 1, later)
    assert LearnedLimit.objects.count() == 1
    assert read_findings(later).revision == 2


def usage(number: int, **fields: object) -> UsageRow:
    figures: dict[str, object] = {
        "request_id": f"r{number}",
        "created_at": NOW - timedelta(minutes=number),
        "provider": "p",
        "upstream_model": "m",
        "outcome": "completed",
        "measured": "measured",
        "completion_tokens": 300,
    }
    return UsageRow(**(figures | fields))


def test_answer_lengths_begin_where_the_last_run_ended(django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    user = User.objects.create_user("a")
    UsageRow.objects.bulk_create(
        [
            *(usage(number, user=user) for number in range(25)),
            usage(100, user=user, created_at=NOW - timedelta(days=8), completion_tokens=9_000),
            usage(101, user=user, measured="estimated", completion_tokens=9_000),
            usage(102, user=user, outcome="truncated", completion_tokens=9_000),
            usage(103, user=None, completion_tokens=9_000),
        ]
    )
    with django_assert_num_queries(1):
        lengths = recent_lengths(NOW)
    expected = lengths.expected("p/m", f"user:{user.pk}")
    assert expected is not None
    assert 300 <= expected < 310


def test_only_the_newest_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    user = User.objects.create_user("a")
    UsageRow.objects.bulk_create(usage(number, user=user, completion_tokens=10 + number) for number in range(30))
    monkeypatch.setattr(seeding, "AT_MOST", 20)
    distribution = recent_lengths(NOW).distribution("p/m", f"user:{user.pk}")
    assert [bucket.upto_tokens for bucket in distribution] == list(range(10, 30))
