"""One scheduler in a process of its own, until its standard input is closed: ``python -m tests.concurrency.instance``.

Says ``ready`` when it runs. Its settings are the tests', and so is its database.
"""

from __future__ import annotations

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django_gocron import registry  # noqa: E402 - Django comes first
from django_gocron.engine.scheduler import Scheduler  # noqa: E402
from tests.concurrency.tasks import note_run  # noqa: E402


def main() -> None:
    registry.register(note_run)
    with Scheduler(name=sys.argv[1]):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
