"""Waking the loop: within the process by an event, across processes by NOTIFY on PostgreSQL.

The listener is a connection of its own, outside Django's. It proves itself at the start by hearing
what another connection says: behind a pooler that shares connections, LISTEN hears nothing and raises nothing, and
then the engine only polls. Whatever is lost, the next poll finds.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
import uuid
from typing import TYPE_CHECKING, Any

from django.db import connections

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("django_gocron")

CHANNEL = "gocron"

SHORTEST_BACKOFF, LONGEST_BACKOFF = 0.1, 5.0
"""Seconds between two attempts to listen again."""


def notify(using: str) -> None:
    """Tell every scheduler, when the current transaction commits, that there is something to look at."""
    if connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])


class Listener:
    """A thread that calls ``wake`` for every notification. Does nothing where the database has none."""

    def __init__(self, using: str, wake: Callable[[], None]) -> None:
        self._using = using
        self._wake = wake
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._bell: socket.socket | None = None

    def start(self) -> None:
        if _can_listen(self._using):
            self._bell, ear = socket.socketpair()
            self._thread = threading.Thread(
                target=self._run, args=(ear,), name="gocron-listener", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Let the thread end; see ``join``."""
        self._stopping.set()
        if self._bell is not None:
            self._bell.close()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, up to ``seconds``."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self, ear: socket.socket) -> None:
        backoff = SHORTEST_BACKOFF
        with ear:
            while not self._stopping.is_set():
                try:
                    with _connect(self._using) as connection:
                        if not self._proves_itself(connection):
                            logger.info("This database hears no notifications: edits are found by polling.")
                            return
                        backoff = SHORTEST_BACKOFF
                        self._listen(connection, ear)
                except Exception as error:  # noqa: BLE001 - a broken connection shows as any of the driver's errors
                    logger.debug("The listener lost its connection: %s", error)
                    self._stopping.wait(backoff)
                    backoff = min(2 * backoff, LONGEST_BACKOFF)

    def _proves_itself(self, connection: Any) -> bool:
        channel = f"{CHANNEL}_{uuid.uuid4().hex}"
        connection.execute(f'LISTEN "{channel}"')
        with _connect(self._using) as another:  # a pooler lets a connection hear what it says itself
            another.execute("SELECT pg_notify(%s, '')", [channel])
        heard = any(True for _ in connection.notifies(timeout=1.0, stop_after=1))
        connection.execute(f'UNLISTEN "{channel}"')
        return heard

    def _listen(self, connection: Any, ear: socket.socket) -> None:
        """Sleep until there is something to read from the connection, or until the bell is closed."""
        connection.execute(f"LISTEN {CHANNEL}")
        self._wake()
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            selector.register(ear, selectors.EVENT_READ)
            while not self._stopping.is_set():
                selector.select()
                for _ in connection.notifies(timeout=0):
                    self._wake()


def _can_listen(using: str) -> bool:
    connection = connections[using]
    if connection.vendor != "postgresql":
        return False
    from django.db.backends.postgresql.psycopg_any import is_psycopg3

    return bool(is_psycopg3)


def _connect(using: str) -> Any:
    import psycopg

    parameters = dict(connections[using].get_connection_params())
    for name in (
        "cursor_factory",
        "context",
        "pool",
        "assume_role",
        "isolation_level",
        "server_side_binding",
    ):
        parameters.pop(name, None)
    return psycopg.connect(**parameters, autocommit=True)


class Wakeup:
    """Lets the loop sleep until it is woken. ``awaits_ends``: something waits for a run of this instance to end."""

    def __init__(self) -> None:
        self.awaits_ends = False
        self._event = threading.Event()

    def wake(self) -> None:
        self._event.set()

    def note_ends(self) -> None:
        """Runs have ended."""
        if self.awaits_ends:
            self.wake()

    def wait(self, seconds: float) -> bool:
        """Return True when woken, or False after ``seconds``."""
        was_woken = self._event.wait(max(0.0, seconds))
        self._event.clear()
        return was_woken
