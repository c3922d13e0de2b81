"""Indexes that help on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class LiveIndex(models.Index):
    """A partial index where the database has them, the whole index elsewhere (Django would make none)."""

    def create_sql(
        self, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor, using: str = "", **kwargs: Any
    ) -> Any:
        if schema_editor.connection.features.supports_partial_indexes:
            return super().create_sql(model, schema_editor, using, **kwargs)
        whole = models.Index(*self.expressions, fields=self.fields, name=self.name)
        return whole.create_sql(model, schema_editor, using, **kwargs)
