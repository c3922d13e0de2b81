"""A command with one of each kind of argument, for the tests of commands as tasks."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Greets people."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--times", type=int, default=1)
        parser.add_argument("--mood", choices=["glad", "grave"], default="glad")
        parser.add_argument("--loud", action="store_true")
        parser.add_argument("--polite", action=argparse.BooleanOptionalAction, default=True)
        parser.add_argument("--to", nargs="*", type=int, default=[])
        parser.add_argument("--end", choices=["exit-0", "exit-3", "exit-text", "error"])

    def handle(self, *args: Any, **options: Any) -> str:
        self.stdout.write(self.style.SUCCESS(f"Hello {options['name']} {options['times'] + 1}"))
        self.stderr.write("Mind the gap")
        if options["end"] == "error":
            raise CommandError("No paper.")
        if options["end"]:
            exits: dict[str, int | str] = {"exit-0": 0, "exit-3": 3, "exit-text": "out of paper"}
            sys.exit(exits[options["end"]])
        return "first\nsecond"
