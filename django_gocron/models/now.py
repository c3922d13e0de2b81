"""The database's clock, in SQL and read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connections
from django.db.models import Expression

from django_gocron import clock
from django_gocron.models.fields import InstantField

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


class DatabaseNow(Expression):
    """The database's clock in SQL, plus a duration: moving within a transaction, in UTC whatever the session says."""

    def __init__(self, plus: timedelta = timedelta(0)) -> None:
        super().__init__(output_field=InstantField())
        self._plus = plus

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        return "(clock_timestamp() + %s::interval)", [self._plus]

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        return "(UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND)", [self._plus // timedelta(microseconds=1)]

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        moment = clock.host_now() + self._plus
        return "%s", [self.output_field.get_db_prep_value(moment, connection)]

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        raise NotImplementedError(f"No clock is known for {connection.vendor}.")


def database_now(using: str) -> datetime:
    """The database's instant, aware UTC; on SQLite the host's."""
    connection = connections[using]
    match connection.vendor:
        case "postgresql":
            return _read(connection, "SELECT clock_timestamp() AT TIME ZONE 'UTC'")
        case "mysql":
            return _read(connection, "SELECT UTC_TIMESTAMP(6)")
        case _:
            return clock.host_now()


def _read(connection: BaseDatabaseWrapper, sql: str) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        value: datetime = cursor.fetchone()[0]
    return value.replace(tzinfo=UTC)
