"""The contract of a subcommand of ``manage.py gocron``. A module beside this one has a class ``Command`` of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.core.management.base import BaseCommand, CommandParser


class Subcommand(ABC):
    """Parses and calls; what it does is elsewhere."""

    help: ClassVar[str]

    def add_arguments(self, parser: CommandParser) -> None:  # noqa: B027
        """Add what it takes besides the options of every command."""

    @abstractmethod
    def run(self, command: BaseCommand, options: Mapping[str, Any]) -> int:
        """Do it, writing to ``command.stdout``, and answer the exit code: 0, or 1 for a problem found.

        A ``GocronError``, or an error of the database, ends with its message and 1.
        """
