"""Another connection to the database, as another process has one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connections, transaction

from tests.heard import PATIENCE


def elsewhere(work: Callable[[], Any]) -> Any:
    """Do ``work`` on another connection, and answer what it answers."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_and_close, work).result(PATIENCE)


def _and_close(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connections.close_all()


@contextmanager
def open_transaction(work: Callable[[], Any], using: str = "default") -> Iterator[None]:
    """``work`` is done in a transaction of another connection, which stays open during the block."""
    done, end = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic(using=using):
            work()
            done.set()
            end.wait(PATIENCE)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(_and_close, hold)
        assert done.wait(PATIENCE)
        try:
            yield
        finally:
            end.set()
            holding.result(PATIENCE)
