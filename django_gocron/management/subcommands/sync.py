"""``manage.py gocron sync``: declared jobs become rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django_gocron import declarations, tables
from django_gocron.exceptions import NotReadyError
from django_gocron.management.subcommands.base import Subcommand
from django_gocron.models.alias import database
from django_gocron.sync_report import Action, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.core.management.base import BaseCommand, CommandParser


class Command(Subcommand):
    help = "Brings the rows in line with the jobs that code declares. Fields changed in the admin stay as they are."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Only say what would be done.")

    def run(self, command: BaseCommand, options: Mapping[str, Any]) -> int:
        using = database()
        if not tables.are_ready(using):
            raise NotReadyError("The tables are not ready. Run: manage.py migrate", code="not_migrated")
        report = declarations.sync(using, dry_run=options["dry_run"])
        for outcome in report.outcomes:
            _write(command, outcome)
        command.stdout.write(f"{report.summary}.{' Nothing was written.' if options['dry_run'] else ''}")
        return 1 if report.refused else 0


def _write(command: BaseCommand, outcome: Outcome) -> None:
    if outcome.action is Action.REFUSED:
        command.stderr.write(f"{'refused':10} {outcome.message}")
        return
    is_kept = outcome.action is Action.UNCHANGED and outcome.overridden
    word = "overridden" if is_kept else outcome.action.value
    command.stdout.write(f"{word:10} {outcome.key}  {'; '.join(_details(outcome))}".rstrip())


def _details(outcome: Outcome) -> list[str]:
    """What is worth saying after the key."""
    details = [f"{outcome.name!r}"]
    if outcome.action is Action.RENAMED:
        details.append(f"was {outcome.former_key}")
    if outcome.changed:
        details.append(f"follows the code: {', '.join(outcome.changed)}")
    if outcome.overridden:
        details.append(f"kept from the admin: {', '.join(outcome.overridden)}")
    return details
