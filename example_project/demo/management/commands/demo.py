"""``manage.py demo``: opens the shop, with its web server and its scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from demo.opening import prepare
from demo.ports import find_port
from demo.report import Mark, Report
from demo.show import Show

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(BaseCommand):
    help = "Opens the example shop: makes its database, then runs the web server and the scheduler."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--for", type=_seconds, dest="seconds", metavar="SECONDS", help="End after so long, and report."
        )
        parser.add_argument(
            "--port", type=int, help="Of the web server. Default: the first free from 8000 on."
        )

    def handle(self, *args: Any, seconds: float | None, port: int | None, **options: Any) -> None:
        port = find_port(port)
        try:
            prepare(self._say)
        except KeyboardInterrupt:
            raise CommandError("Interrupted before the shop was open.", returncode=130) from None
        mark, show = Mark.now(), Show(self._say)
        if show.run(port, seconds) and seconds is not None:
            self._report(Report.since(mark, show.lines), seconds)

    def _report(self, report: Report, seconds: float) -> None:
        self._say(self.style.MIGRATE_HEADING(f"\nWhat happened in {seconds:g} seconds"))
        for line in report.describe():
            self._say(line)
        if report.faults:
            raise CommandError(f"In {seconds:g} seconds there was less than: {', '.join(report.faults)}.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError(text)
    return seconds
