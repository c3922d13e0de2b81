"""The database's clock, in SQL and read; or, in a project's tests, the one that stands for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connections
from django.db.models import Expression

from django_gocron import clock
from django_gocron.models.fields import InstantField

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


_stand_in: Callable[[], datetime] | None = None


@contextmanager
def replaced_by(now: Callable[[], datetime]) -> Iterator[None]:
    """For tests: until the end of the block ``now`` stands for the clock of every database, in all threads of this
    process."""
    global _stand_in
    before, _stand_in = _stand_in, now
    try:
        yield
    finally:
        _stand_in = before


class DatabaseNow(Expression):
    """The database's clock in SQL, plus a duration: moving within a transaction, in UTC whatever the session says."""

    def __init__(self, plus: timedelta = timedelta(0)) -> None:
        super().__init__(output_field=InstantField())
        self._plus = plus

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        if _stand_in:
            return self._as_value(_stand_in(), connection)
        return "(clock_timestamp() + %s::interval)", [self._plus]

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        if _stand_in:
            return self._as_value(_stand_in(), connection)
        return "(UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND)", [self._plus // timedelta(microseconds=1)]

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        return self._as_value((_stand_in or clock.host_now)(), connection)

    def _as_value(self, now: datetime, connection: Any) -> tuple[str, list[Any]]:
        return "%s", [self.output_field.get_db_prep_value(now + self._plus, connection)]

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        raise NotImplementedError(f"No clock is known for {connection.vendor}.")


def database_now(using: str) -> datetime:
    """The database's instant, aware UTC; on SQLite the host's."""
    if _stand_in:
        return _stand_in()
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
