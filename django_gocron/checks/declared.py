"""Jobs that code declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core import checks

from django_gocron import declarations, registry
from django_gocron.exceptions import ConfigurationError, DeclarationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.core.checks import CheckMessage


def check_declarations(**kwargs: Any) -> list[CheckMessage]:
    """W003: declared jobs that could not be saved. W004: two that have one key or one name."""
    declared = registry.declarations()
    try:
        return [*_check_each(declared), *_check_clashes(declared)]
    except ConfigurationError:
        return []  # E001 says so


def _check_each(declared: tuple[registry.Declaration, ...]) -> Iterator[CheckMessage]:
    for declaration in declared:
        try:
            declarations.build(declaration)
        except DeclarationError as error:
            yield checks.Warning(
                error.message,
                hint="Correct the arguments of @job there. Until then the job is left out; the others go on.",
                obj=declaration.task.name,
                id="gocron.W003",
            )


def _check_clashes(declared: tuple[registry.Declaration, ...]) -> Iterator[CheckMessage]:
    for message in declarations.find_clashes(declared).values():
        yield checks.Warning(
            message, hint="Rename one of the functions, with aliases=[...] for its old key.", id="gocron.W004"
        )
    first: dict[str, registry.Declaration] = {}
    for declaration in declared:
        other = first.setdefault(declaration.name, declaration)
        if other is not declaration and other.key != declaration.key:
            yield checks.Warning(
                f"{declaration.where} and {other.where}: two jobs are named {declaration.name!r}.",
                hint="Give one of them another name: @job(..., name='...').",
                id="gocron.W004",
            )
