"""Not discovered: loaded by the tests of keys alone."""

from __future__ import annotations

from django_gocron import Every, job


@job(Every(hours=1))
def labelled() -> None: ...
