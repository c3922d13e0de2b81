"""Whether the database has our tables, as this release knows them."""

from __future__ import annotations

from django.apps import apps
from django.db import connections


def are_ready(using: str) -> bool:
    """Whether every table is there with every column: no migration is waiting that would add one."""
    connection = connections[using]
    introspection = connection.introspection
    with connection.cursor() as cursor:
        tables = set(introspection.table_names(cursor))
        for model in apps.get_app_config("gocron").get_models(include_auto_created=True):
            if model._meta.db_table not in tables:
                return False
            described = introspection.get_table_description(cursor, model._meta.db_table)
            columns = {column.name for column in described}
            if any(field.column not in columns for field in model._meta.local_concrete_fields):
                return False
    return True
