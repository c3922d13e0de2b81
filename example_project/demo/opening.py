"""Before the shop opens: tables, an account, products, the jobs that staff made, and something left to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory

from django_gocron.models import Job
from shop.feed import read_orders
from shop.models import FeedImport, Order, Product, StockMovement
from shop.orders import last_line_read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from django.db.backends.utils import CursorWrapper
    from django.db.models import Model

LOGIN = PASSWORD = "admin"

STAFF_JOBS = ("Clear expired sessions", "Best sellers of the week")
"""Those of the fixture ``jobs``."""

ENOUGH = 150
"""Orders that make a few minutes."""


def prepare(say: Callable[[str], None]) -> None:
    """Make the shop ready to open; ``say`` is told what was done. Nothing that is there already is changed, but for a
    database that does not fit this version and a feed that is used up. Raises ``CommandError``."""
    _migrate(say)
    _make_account(say)
    if not Product.objects.exists():
        call_command("loaddata", "catalog", verbosity=0)
        say(f"Products: {Product.objects.count()} loaded from a fixture.")
    if not Job.objects.filter(name__in=STAFF_JOBS).exists():
        call_command("loaddata", "jobs", verbosity=0)
        say(f"Jobs made by staff: {' and '.join(STAFF_JOBS)}, loaded from a fixture.")
    if sum(1 for _order in read_orders(after_line=last_line_read())) < ENOUGH:
        _forget_orders()
        say("The feed of orders was used up: the orders are deleted, and come in again.")


def _migrate(say: Callable[[str], None]) -> None:
    if misfit := _try_to_migrate():
        aside = _move_aside(misfit)
        say(f"The database was made by another version ({misfit}). It is now {aside}; here is a new one.")
        if misfit := _try_to_migrate():
            raise CommandError(f"A new database does not fit either: {misfit}.")
    say(f"Database: {connection.display_name}, {connection.settings_dict['NAME']}")


def _try_to_migrate() -> str:
    """Why the tables are not as this version knows them, or ""."""
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {str(error).strip()}") from error
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except (DatabaseError, InconsistentMigrationHistory) as error:
        return str(error).strip()
    return _find_lack()


def _find_lack() -> str:
    models = [model for app in ("gocron", "shop") for model in apps.get_app_config(app).get_models()]
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in models:
            if lacking := _columns(model) - _columns_there(cursor, model, tables):
                return f"{model._meta.db_table} lacks {', '.join(sorted(map(str, lacking)))}"
    return ""


def _columns(model: type[Model]) -> set[str | None]:
    return {field.column for field in model._meta.local_concrete_fields}


def _columns_there(cursor: CursorWrapper, model: type[Model], tables: set[str]) -> set[str]:
    table = model._meta.db_table
    if table not in tables:
        return set()
    return {column.name for column in connection.introspection.get_table_description(cursor, table)}


def _move_aside(misfit: str) -> Path:
    """Rename the file of an SQLite database. Raises ``CommandError`` for any other."""
    if connection.vendor != "sqlite":
        raise CommandError(f"This database does not fit: {misfit}. Name an empty one in DATABASE_URL.")
    file: Path = connection.settings_dict["NAME"]
    aside = file.with_name(f"{file.stem}.old{file.suffix}")
    connection.close()
    for ending in ("", "-wal", "-shm"):
        source, target = (path.with_name(path.name + ending) for path in (file, aside))
        target.unlink(missing_ok=True)
        if source.exists():
            source.rename(target)
    return aside


def _make_account(say: Callable[[str], None]) -> None:
    users = get_user_model().objects
    if not users.filter(username=LOGIN).exists():
        users.create_superuser(LOGIN, "admin@shop.example", PASSWORD)
        say(f"Account: {LOGIN}, with the password {PASSWORD}.")


def _forget_orders() -> None:
    StockMovement.objects.filter(order__isnull=False).delete()
    Order.objects.all().delete()
    FeedImport.objects.all().delete()
