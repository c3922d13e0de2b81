"""``manage.py runscheduler``: runs jobs until it is told to stop."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings as django_settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from django_gocron import logs
from django_gocron.conf import get_settings
from django_gocron.engine.scheduler import Scheduler, check_ready
from django_gocron.engine.tally import Tally
from django_gocron.exceptions import GocronError
from django_gocron.management.banner import write_banner
from django_gocron.management.reloading import run_reloading

if TYPE_CHECKING:
    from argparse import ArgumentParser

SWITCH_INTERVAL = 0.0005
"""Seconds after which Python lets another thread run: starts are less late beside tasks that compute."""

STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Command(BaseCommand):
    help = "Runs jobs on schedule until stopped. Start as many as you like, on any number of hosts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Run what is due, wait for it, and exit.")
        parser.add_argument("--workers", type=_positive, metavar="N", help="The most runs at a time.")
        parser.add_argument(
            "--label",
            action="append",
            default=[],
            metavar="NAME",
            help="Also run jobs with this label. Can be given several times.",
        )
        parser.add_argument(
            "--instance-name", default="", metavar="NAME", help="Default: host and process id."
        )
        parser.add_argument("--log-format", choices=("text", "json"), default="text")
        parser.add_argument(
            "--autoreload",
            action="store_true",
            default=None,
            help="Restart when code changes. The default in DEBUG on a terminal.",
        )
        parser.add_argument("--no-autoreload", action="store_false", dest="autoreload")

    def handle(self, *args: Any, **options: Any) -> None:
        logs.configure(sys.stderr, style=options["log_format"])
        sys.setswitchinterval(SWITCH_INTERVAL)
        if not _settings().enabled:
            self.stdout.write("GOCRON['ENABLED'] is false: no job runs from here.")
        elif options["once"]:
            self._run_once(self._make_scheduler(options))
        elif self._reloads(options["autoreload"]):
            run_reloading(lambda: self._start_reloaded(options))
        else:
            self._run(self._make_scheduler(options))

    def _make_scheduler(self, options: dict[str, Any]) -> Scheduler:
        values = {"workers": options["workers"], "labels": options["label"], "name": options["instance_name"]}
        ahead = timedelta(0) if options["once"] else None
        scheduler: Scheduler = _ask(lambda: Scheduler(**values, ahead=ahead))
        _ask(check_ready, scheduler.options.using)
        return scheduler

    def _run(self, scheduler: Scheduler) -> None:
        _stop_on_signals(scheduler)
        _ask(scheduler.start)
        write_banner(self.stdout, self.style, scheduler)
        while not scheduler.wait(0.5):
            pass
        _leave(scheduler.shutdown().abandoned, failed=scheduler.has_failed)

    def _start_reloaded(self, options: dict[str, Any]) -> Scheduler:
        """Not in the main thread: what is wrong ends the process here."""
        try:
            scheduler = self._make_scheduler(options)
            _ask(scheduler.start)
        except CommandError as error:
            self.stderr.write(str(error))
            os._exit(1)
        write_banner(self.stdout, self.style, scheduler)
        return scheduler

    def _run_once(self, scheduler: Scheduler) -> None:
        _stop_on_signals(scheduler)
        with Tally() as tally:
            _ask(lambda: scheduler.start(loop=False))
            if not scheduler.is_leader:
                self.stdout.write("Another instance leads: only what every instance runs is run here.")
            scheduler.run_due()
            abandoned = scheduler.shutdown().abandoned
        self.stdout.write(str(tally))
        _leave(abandoned)
        if tally.failed:
            sys.exit(1)

    def _reloads(self, asked: bool | None) -> bool:
        return sys.stdin.isatty() and django_settings.DEBUG if asked is None else asked


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _settings() -> Any:
    return _ask(get_settings)


def _ask(action: Any, *args: Any) -> Any:
    """What is wrong with the project or the database is told in a sentence, with exit code 1."""
    try:
        return action(*args)
    except GocronError as error:
        raise CommandError(error.message, returncode=1) from error
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {str(error).strip()}", returncode=1) from error


def _stop_on_signals(scheduler: Scheduler) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: scheduler.request_stop())


def _leave(abandoned: int, *, failed: bool = False) -> None:
    """Threads that still run user code, or that hang, would keep the interpreter from ending."""
    if abandoned or failed:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
