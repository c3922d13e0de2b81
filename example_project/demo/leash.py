"""Runs a command of ``manage.py`` that ends when its parent does, however the parent ends.

``python -m demo.leash <command> [options]``. The parent holds the other end of standard input: when nobody does any
more, the command is interrupted, after a while once more, and at last ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from django.core.management import execute_from_command_line

PATIENCE = 5.0
"""Seconds after each interrupt."""


def main(arguments: list[str]) -> None:
    threading.Thread(target=_watch_parent, daemon=True).start()
    execute_from_command_line(["manage.py", *arguments])


def _watch_parent() -> None:
    """Reads the descriptor itself: ``sys.stdin`` would be locked when the interpreter ends."""
    while os.read(0, 1024):
        pass
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
