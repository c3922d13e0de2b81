"""Keepers: one for each locker, with a thread of its own in which all of the locker's calls are made.

So a locker that hangs holds up the engine once: whoever asks waits for ``PATIENCE`` at most, and while a call is under
way that has taken longer, nobody waits at all.

States of a lock, and who moves it:

    asked ──keeper's thread──> kept ──writer, or the memory has forgotten its run──> released
                                └──could not be extended in time, or is somebody else's──> lost

A lock is kept as long as the memory knows its run: also when the answer to its acquisition came too late for whoever
asked, and the run asks again. It is extended at a third of its TTL, and while the locker does not answer once a second.
A crash loses nothing but the memory of it: the TTL frees the lock.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from django.db import close_old_connections

from django_gocron.engine.database import engine_thread
from django_gocron.exceptions import LockerError, describe
from django_gocron.lockers.base import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from django_gocron.clock import Clock
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.lockers.base import Lock, Locker

T = TypeVar("T")

logger = logging.getLogger("django_gocron")

PATIENCE = 1.0
"""Seconds that the engine waits for an answer."""

LOOK_AGAIN = 1.0
"""Seconds between two looks at what is kept, and between two attempts while the locker does not answer."""

SAFE_SHARE = 0.25
"""Of the TTL: with less left, a lock is not touched where that takes two steps, and is as good as lost."""


@dataclass(slots=True, kw_only=True)
class _Kept:
    """A lock that was acquired; instants are seconds since boot."""

    entry: Entry
    lock: Lock
    expires_at: float
    extend_at: float


class Keeper:
    """``acquire`` is called from the timer's thread, ``release`` from the writer's too, the rest from the one that
    starts and shuts down. ``on_lost`` is called in the keeper's own."""

    def __init__(
        self,
        using: str,
        alias: str,
        locker: Locker,
        clock: Clock,
        memory: Memory,
        on_lost: Callable[[Entry, Lock], None],
    ) -> None:
        self._using = using
        self._locker = locker
        self._ttl = locker.ttl.total_seconds()
        self._clock = clock
        self._memory = memory
        self._on_lost = on_lost
        self._kept: dict[int, _Kept] = {}
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._busy_since: float | None = None
        self._is_away = False
        self._alias = alias
        self._thread = threading.Thread(target=self._run, name=f"gocron-locker-{alias}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Let it release everything, whatever still executes, and end."""
        self._calls.put(None)

    def join(self, seconds: float) -> None:
        """Wait until it has ended, up to ``seconds``."""
        self._thread.join(max(0.0, seconds))

    def acquire(self, wanted: Mapping[Entry, Lock]) -> dict[Entry, Refusal]:
        """Take the locks, and keep them as long as their runs are in memory. Answers those that were refused."""
        try:
            return self._ask(lambda: self._acquire(wanted))
        except TookTooLong:
            return dict.fromkeys(wanted, Refusal(error=f"It has not answered within {PATIENCE:g} s."))
        except LockerError as error:
            return dict.fromkeys(wanted, Refusal(error=error.message))

    def release(self, run_ids: Collection[int]) -> None:
        """Free what these runs have. What cannot be freed now is tried again, until it runs out."""
        ours = [run_id for run_id in run_ids if run_id in self._kept]
        if not ours:
            return
        try:
            self._ask(lambda: self._release(ours))
        except (LockerError, TookTooLong) as error:
            logger.debug("Locks of %r are released later: %s", self._alias, error)

    def _ask(self, work: Callable[[], T]) -> T:
        """Have it done in the keeper's thread, and answer what comes of it. Raises ``TimeoutError`` after a while."""
        busy_since = self._busy_since  # once: its thread sets it
        if busy_since is not None and self._clock.boottime() - busy_since > PATIENCE:
            raise TookTooLong
        future: Future[T] = Future()
        self._calls.put(lambda: _fulfil(future, work))
        return future.result(PATIENCE)

    def _run(self) -> None:
        with engine_thread(self._using):
            while (call := self._next_call()) is not None:
                self._busy_since = self._clock.boottime()
                self._attempt(close_old_connections)
                call()
                self._look_after()
                self._busy_since = None
            self._attempt(lambda: self._release(list(self._kept)))

    def _next_call(self) -> Callable[[], None] | None:
        try:
            return self._calls.get(timeout=self._seconds_to_next())
        except Empty:
            return lambda: None

    def _seconds_to_next(self) -> float | None:
        """Until something is to be extended, or looked at again; for ever where nothing is kept."""
        if not self._kept:
            return None
        soonest = min(kept.extend_at for kept in self._kept.values())
        return min(LOOK_AGAIN, max(0.0, soonest - self._clock.boottime()))

    def _acquire(self, wanted: Mapping[Entry, Lock]) -> dict[Entry, Refusal]:
        self._release_forgotten()
        asked_at = self._clock.boottime()
        answers = self._locker.acquire_many(list(wanted.values()))
        refused: dict[Entry, Refusal] = {}
        for (entry, lock), refusal in zip(wanted.items(), answers, strict=True):
            if refusal is None:
                self._kept[entry.run_id] = _Kept(entry=entry, lock=lock, **self._times(asked_at))
            else:
                refused[entry] = refusal
        return refused

    def _times(self, asked_at: float) -> dict[str, float]:
        return {"expires_at": asked_at + self._ttl, "extend_at": asked_at + self._ttl / 3}

    def _look_after(self) -> None:
        """Release what the memory has forgotten, extend what is due, and give up what has run out."""
        self._attempt(self._release_forgotten)
        now = self._clock.boottime()
        due = [kept for kept in self._kept.values() if kept.extend_at <= now and self._may_touch(kept)]
        if due:
            self._attempt(lambda: self._extend(due))
        for kept in list(self._kept.values()):
            if not self._is_good(kept):
                self._lose(kept)

    def _release_forgotten(self) -> None:
        self._release([run_id for run_id, kept in self._kept.items() if not self._memory.has(kept.entry)])

    def _extend(self, due: Sequence[_Kept]) -> None:
        asked_at = self._clock.boottime()
        for kept in due:
            kept.extend_at = asked_at + min(LOOK_AGAIN, self._ttl / 6)  # unless there is an answer
        answers = self._locker.extend_many([kept.lock for kept in due])
        for kept, extended in zip(due, answers, strict=True):
            if extended:
                kept.expires_at, kept.extend_at = self._times(asked_at).values()
            else:
                self._lose(kept)

    def _release(self, run_ids: Sequence[int]) -> None:
        """What runs out anyway, and must not be touched, is forgotten."""
        kept = [self._kept[run_id] for run_id in run_ids if run_id in self._kept]
        ours = [one for one in kept if self._may_touch(one)]
        if ours:
            self._locker.release_many([one.lock for one in ours])
        for one in kept:
            self._kept.pop(one.entry.run_id, None)

    def _lose(self, kept: _Kept) -> None:
        if self._kept.pop(kept.entry.run_id, None) is not None:
            self._on_lost(kept.entry, kept.lock)

    def _may_touch(self, kept: _Kept) -> bool:
        """Whether a late call cannot meet the lock of somebody else."""
        return self._locker.is_atomic or self._is_good(kept)

    def _is_good(self, kept: _Kept) -> bool:
        return kept.expires_at - self._clock.boottime() > SAFE_SHARE * self._ttl

    def _attempt(self, work: Callable[[], None]) -> None:
        """Do what nobody waits for. An outage is said once."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - an asynchronous driver raises CancelledError
            if not self._is_away:
                logger.warning("The locker %r does not answer: %s", self._alias, describe(error))
            self._is_away = True
        else:
            self._is_away = False


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - for whoever asked; the thread goes on
        future.set_exception(LockerError(describe(error), code="locker_unavailable"))
