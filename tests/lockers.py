"""A locker whose server is a dict in this process: tests take it down, empty it, let it hang, and read it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django_gocron import clock
from django_gocron.lockers.base import Lock, Locker, Refusal


@dataclass(slots=True)
class Server:
    """``held`` has the lock and the instant at which it runs out, by key, on ``boottime``."""

    held: dict[str, tuple[Lock, float]] = field(default_factory=dict)
    boottime: Callable[[], float] = clock.boottime
    is_down: bool = False
    answers: threading.Event = field(default_factory=threading.Event)
    """Cleared, every call hangs until it is set."""
    calls: list[tuple[str, int]] = field(default_factory=list)
    """What was called, and with how many locks."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.answers.set()

    def holder_of(self, key: str) -> Lock | None:
        lock, expires_at = self.held.get(key, (None, 0.0))
        return lock if expires_at > self.boottime() else None

    def keys(self) -> set[str]:
        """Those that are held."""
        return {key for key in tuple(self.held) if self.holder_of(key)}


SERVER = Server()


def new_server(boottime: Callable[[], float] = clock.boottime) -> Server:
    """An empty one, in the place of the last."""
    global SERVER
    SERVER = Server(boottime=boottime)
    return SERVER


class DictLocker(Locker):
    def __init__(self, ttl: float = 60.0, *, is_atomic: bool = True) -> None:
        self.ttl = timedelta(seconds=ttl)
        self.is_atomic = is_atomic

    def acquire_many(self, locks: Sequence[Lock]) -> list[Refusal | None]:
        server = self._call("acquire", locks)
        return [self._acquire(server, lock) for lock in locks]

    def extend_many(self, locks: Sequence[Lock]) -> list[bool]:
        server = self._call("extend", locks)
        return [self._extend(server, lock) for lock in locks]

    def release_many(self, locks: Sequence[Lock]) -> list[bool]:
        server = self._call("release", locks)
        return [self._release(server, lock) for lock in locks]

    def _call(self, name: str, locks: Sequence[Lock]) -> Server:
        server = SERVER
        server.calls.append((name, len(locks)))
        server.answers.wait()
        if server.is_down:
            raise ConnectionRefusedError("nobody listens")
        return server

    def _acquire(self, server: Server, lock: Lock) -> Refusal | None:
        with server.lock:
            holder = server.holder_of(lock.key)
            if holder is not None and holder.token != lock.token:
                return Refusal(holder=holder.holder)
            server.held[lock.key] = lock, server.boottime() + self.ttl.total_seconds()
            return None

    def _extend(self, server: Server, lock: Lock) -> bool:
        with server.lock:
            is_mine = server.holder_of(lock.key) == lock
            if is_mine:
                server.held[lock.key] = lock, server.boottime() + self.ttl.total_seconds()
            return is_mine

    def _release(self, server: Server, lock: Lock) -> bool:
        with server.lock:
            is_mine = server.holder_of(lock.key) == lock
            if is_mine:
                del server.held[lock.key]
            return is_mine
