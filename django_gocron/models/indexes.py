"""Indexes that help on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.models import Q


class LiveIndex(models.Index):
    """An index of the rows that ``where`` selects, on databases that have partial indexes; elsewhere of all rows
    (Django would make no index there, and warn)."""

    def __init__(self, *, where: Q, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.where = where

    def deconstruct(self) -> Any:
        path, expressions, kwargs = super().deconstruct()
        return path, expressions, {**kwargs, "where": self.where}

    def create_sql(
        self,
        model: type[models.Model],
        schema_editor: BaseDatabaseSchemaEditor,
        using: str = "",
        **kwargs: Any,
    ) -> Any:
        partial = schema_editor.connection.features.supports_partial_indexes
        index = models.Index(fields=self.fields, name=self.name, condition=self.where if partial else None)
        return index.create_sql(model, schema_editor, using, **kwargs)
