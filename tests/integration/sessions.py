"""The server's sessions on the tests' database: who is connected, and what an administrator can do to them."""

from __future__ import annotations

from contextlib import suppress

from django.db import DatabaseError, connection

OTHERS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "mysql": "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}
KILL = {"postgresql": "SELECT pg_terminate_backend(%s)", "mysql": "KILL %s"}
OWN = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}


def other_sessions() -> set[int]:
    """All but this thread's."""
    with connection.cursor() as cursor:
        cursor.execute(OTHERS[connection.vendor])
        return {int(number) for (number,) in cursor.fetchall()}


def own_session() -> int:
    """This thread's; connects where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(OWN[connection.vendor])
        return int(cursor.fetchone()[0])


def kill_other_sessions() -> int:
    """Break every connection but this thread's; answer how many there were."""
    sessions = other_sessions()
    for number in sessions:
        with suppress(DatabaseError), connection.cursor() as cursor:  # it may just have ended by itself
            cursor.execute(KILL[connection.vendor], [number])
    return len(sessions)
