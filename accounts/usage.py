"""Records into rows: the database side of the outbox.

Idempotent by request id on SQLite and PostgreSQL alike: a row that is there is left as it is, but for
`refused_count`, which follows the latest word (see `accounts.outbox.tally`). The conflict is named in the
statement, so that any other violation stays loud; SQLite's `OR IGNORE` would swallow those too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    close_old_connections,
    connection,
    models,
    transaction,
)

from accounts.models import PersonalToken, Team, UsageRow, User
from accounts.outbox.record import UsageRecord
from accounts.outbox.writing import DatabaseAway, RecordsRefused

__all__ = ["UsageRecord", "write_rows"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_rows(records: Sequence[UsageRecord]) -> None:
    """Write all records or none. For the outbox's thread: keeps no connection longer than CONN_MAX_AGE.

    Raises DatabaseAway (try later) or RecordsRefused (one of them cannot be written as it is).
    """
    _renew_connection()
    try:
        _write(_one_per_request(records))
    except (DataError, IntegrityError, ValueError, OverflowError) as error:
        raise RecordsRefused(str(error)) from error
    except (DatabaseError, InterfaceError) as error:  # not reachable, locked, or not migrated yet
        raise DatabaseAway(str(error)) from error
    finally:
        _renew_connection()


def _renew_connection() -> None:
    """No request ends in this thread, so nobody else drops a connection that is broken or too old."""
    if not connection.in_atomic_block:
        close_old_connections()


def _write(records: Sequence[UsageRecord]) -> None:
    """One statement, run for every row. `bulk_create` would say the same and take three times as long, on a thread that
    shares its processor with the requests.
    """
    known = _Known(records)
    rows = [_values(record, known) for record in records]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(_statement(), rows)


@functools.cache
def _statement() -> str:
    names = ("created_at", "user_id", "token_id", "team_id", *_fitted_fields())
    columns = ", ".join(connection.ops.quote_name(_column(name)) for name in names)
    return (
        f"INSERT INTO {UsageRow._meta.db_table} ({columns}) VALUES ({', '.join(['%s'] * len(names))}) "  # noqa: S608
        "ON CONFLICT (request_id) DO UPDATE SET refused_count = EXCLUDED.refused_count"
    )


def _column(name: str) -> str:
    return str(cast("models.Field[Any, Any]", UsageRow._meta.get_field(name)).column)


def _one_per_request(records: Iterable[UsageRecord]) -> list[UsageRecord]:
    """PostgreSQL refuses to touch a row twice in one statement.

    The first word stands; of counts, the highest.
    """
    kept: dict[str, UsageRecord] = {}
    for record in records:
        earlier = kept.setdefault(record.request_id, record)
        if record.refused_count > earlier.refused_count:
            kept[record.request_id] = msgspec.structs.replace(earlier, refused_count=record.refused_count)
    return list(kept.values())


class _Known:
    """Which of the users, tokens and teams named by records still exist; a row outlives those it names."""

    def __init__(self, records: Sequence[UsageRecord]) -> None:
        self.users = _existing(User, {record.user_id for record in records})
        self.tokens = _existing(PersonalToken, {record.token_id for record in records})
        self.teams = _existing(Team, {record.team_id for record in records})


def _existing(model: type[models.Model], ids: set[int | None]) -> set[int]:
    asked = ids - {None}
    return set(model._default_manager.filter(pk__in=asked).values_list("pk", flat=True)) if asked else set()


def _values(record: UsageRecord, known: _Known) -> list[Any]:
    """A row's values, in the order of `_statement`'s columns."""
    created_at = _EPOCH + timedelta(microseconds=record.created_at_us)
    return [
        connection.ops.adapt_datetimefield_value(created_at),
        record.user_id if record.user_id in known.users else None,
        record.token_id if record.token_id in known.tokens else None,
        record.team_id if record.team_id in known.teams else None,
        *(fit(getattr(record, name)) for name, fit in _fitted_fields().items()),
    ]


_LINKS = {"created_at_us", "user_id", "token_id", "team_id"}


@functools.cache
def _fitted_fields() -> dict[str, Callable[[Any], Any]]:
    """Per plain field of a record: what makes a caller's value fit its column.

    A long model name must not cost a row.
    """
    names = [name for name in UsageRecord.__struct_fields__ if name not in _LINKS]
    return {name: _fitting(name) for name in names}


def _fitting(name: str) -> Callable[[Any], Any]:
    field = UsageRow._meta.get_field(name)
    if name == "request_id":
        return lambda value: value  # never cut: two ids could become one
    if isinstance(field, models.CharField):
        length = field.max_length
        return lambda value: value.replace("\0", "")[:length]
    if isinstance(field, models.IntegerField):
        _, most = connection.ops.integer_field_range(field.get_internal_type())
        return lambda value: None if value is None else max(0, min(value, most or value))
    if isinstance(field, models.JSONField):
        return lambda value: connection.ops.adapt_json_value(list(value), None)
    return lambda value: value
