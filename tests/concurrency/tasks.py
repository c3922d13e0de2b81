from __future__ import annotations

import os


def note_run() -> int:
    """Its result says which process ran it."""
    return os.getpid()
