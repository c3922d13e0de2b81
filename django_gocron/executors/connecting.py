"""The database connections of a thread, between two pieces of user code."""

from __future__ import annotations

import logging

from django.db import connections

logger = logging.getLogger("django_gocron")


def refresh() -> None:
    """Close what is unusable or too old, as Django does between two requests; but not within a transaction of the
    caller's. One that persists is tried before its next use, whatever the project has set: it may have broken since, by
    what an earlier run did or all by itself."""
    for one in connections.all(initialized_only=True):
        if not one.in_atomic_block:
            one.health_check_enabled = True  # type: ignore[attr-defined]
            one.close_if_unusable_or_obsolete()


def find_open() -> set[str]:
    """The aliases on which this thread is inside a transaction."""
    return {one.alias for one in connections.all(initialized_only=True) if one.in_atomic_block}


def tidy(outer: set[str]) -> None:
    """Leave no transaction open but the ``outer`` ones. A connection that cannot even be closed must not take the run's
    outcome with it."""
    try:
        _discard(find_open() - outer)
        refresh()
    except Exception:
        logger.exception("The database connections of a run could not be closed.")


def close_all() -> set[str]:
    """Close every connection of this thread; answer the aliases on which a transaction was open."""
    left_open = find_open()
    connections.close_all()
    return left_open


def close_inner(outer: set[str]) -> set[str]:
    """Close those that have been left inside a transaction, but for the ``outer`` ones; answer their aliases."""
    left_open = find_open() - outer
    tidy(outer)
    return left_open


def _discard(aliases: set[str]) -> None:
    """Connections that are still inside a transaction are of no use to the next run: Django makes others."""
    for alias in aliases:
        connections[alias].close()
        del connections[alias]
