"""``manage.py gocron <subcommand>``: one command for everything about jobs that is not running them."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError

from django_gocron.exceptions import GocronError
from django_gocron.management import subcommands
from django_gocron.management.subcommands.base import Subcommand


def find_subcommands() -> dict[str, Subcommand]:
    """One for each module in ``management/subcommands`` besides ``base``, under the module's name."""
    names = sorted(module.name for module in iter_modules(subcommands.__path__) if module.name != "base")
    return {name: import_module(f"{subcommands.__name__}.{name}").Command() for name in names}


class Command(BaseCommand):
    help = "Looks after jobs: see manage.py gocron <subcommand> --help."

    def add_arguments(self, parser: CommandParser) -> None:
        choices = parser.add_subparsers(dest="subcommand", metavar="subcommand", required=True)
        for name, subcommand in find_subcommands().items():
            subparser = choices.add_parser(name, help=subcommand.help, description=subcommand.help)
            subcommand.add_arguments(subparser)

    def handle(self, *args: Any, subcommand: str, **options: Any) -> None:
        try:
            code = find_subcommands()[subcommand].run(self, options)
        except GocronError as error:
            raise CommandError(error.message) from error
        except (OperationalError, InterfaceError) as error:
            raise CommandError(f"The database cannot be used now: {error}") from error
        if code:
            sys.exit(code)
