"""The contract of a locker: locks by key, outside the ledger, that expire unless they are extended.

    free ──acquire──> held ──release──> free
                       │ └──extend──> held, for another TTL
                       └──TTL over──> free

A lock is somebody's by its token: whoever else has it, or nobody, has not lost a thing to a holder that is late. A
scheduler makes one object of each locker that ``GOCRON["LOCKERS"]`` names, and calls it from one thread of its own, a
batch at a time. ``django_gocron.testing.LockerContract`` is the test suite of this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock, wanted or held. ``key`` says what is locked: a job's name. ``holder`` tells people who wants it (one
    line, at most 200 characters), ``token`` tells the locker: at most 64 letters and digits, another for every run."""

    key: str
    holder: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a lock was not acquired: ``holder`` has it ("": it is held, the locker cannot tell by whom), or, where
    ``error`` is not "", the locker could not answer for that key."""

    holder: str = ""
    error: str = ""


class Locker(ABC):
    """Subclasses take their ``OPTIONS`` as keyword arguments, and raise ``ConfigurationError`` for wrong ones.

    Each method may raise ``LockerError`` when nothing is known of any of the locks; whatever else one raises is taken
    for that. A call that takes long holds up only this locker's jobs.
    """

    ttl: timedelta
    """How long a lock lasts from when it is acquired or extended. It is extended at a third of that."""

    is_atomic: bool = True
    """Whether ``extend_many`` and ``release_many`` look whose a lock is and change it in one step. Where they do not,
    they are called only while a good part of the TTL is left; a lock later than that is left to expire."""

    @abstractmethod
    def acquire_many(self, locks: Sequence[Lock]) -> list[Refusal | None]:
        """Take each lock that is free, or held by its own token already, for a TTL. Answers for each in turn None, or
        why not. Keys are distinct. Never waits for a lock."""

    @abstractmethod
    def extend_many(self, locks: Sequence[Lock]) -> list[bool]:
        """Let each lock last for another TTL from now. False: its token does not hold it any more."""

    @abstractmethod
    def release_many(self, locks: Sequence[Lock]) -> list[bool]:
        """Free each lock. False: its token did not hold it any more; then nothing has changed."""
