"""Pages over a table of millions of rows."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.utils.functional import cached_property

MOST = 10_000
"""Rows counted, at most; whoever wants older ones filters."""


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts no further than ``MOST``; ``is_capped`` tells that there are more."""

    @cached_property
    def _counted(self) -> int:
        return int(self.object_list.order_by()[: MOST + 1].count())  # type: ignore[attr-defined]

    @cached_property
    def count(self) -> int:
        return min(MOST, self._counted)

    @property
    def is_capped(self) -> bool:
        return self._counted > MOST
