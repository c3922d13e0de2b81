"""What every locker must do, as tests for pytest. The lockers of this package pass them, and so should yours."""

from __future__ import annotations

import random
import uuid
from datetime import timedelta
from threading import Thread
from typing import TYPE_CHECKING
from unittest import SkipTest
from unittest.mock import patch

from django_gocron import clock
from django_gocron.exceptions import LockerError
from django_gocron.lockers.base import Lock, Refusal
from django_gocron.testing.contract import (
    LEEWAY,
    LONG,
    LOOK_AGAIN,
    PATIENCE,
    RENEWED,
    SHORT,
    Contract,
    wait_until,
)
from django_gocron.testing.crowds import crowds, own_connections

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django_gocron.lockers.base import Locker

PROCESSES = 2

BATCH = 50
"""Locks that one call of a crowd asks for."""

ODD_KEYS = (
    "job",
    "Job",
    "JOB",
    "job ",
    " job",
    "two words",
    "two_words",
    "a:b",
    "a%3Ab",
    "a#b",
    "Überweisung",
    "Uberweisung",
    "夜間バッチ",
    "line\nbreak",
    "tab\tbreak",
    "x" * 191 + "y",
    "x" * 192,
    "é" * 192,
    "",
)


class LockerContract(Contract):
    """Subclass it as ``TestMyLocker`` and override ``make_locker``; pytest finds the tests. Each has its own keys."""

    names_holders = True
    """Whether a refusal says who has the lock."""

    contended_keys = 1000
    """How many locks those in several processes contend for. Less for a backend that is slow."""

    def make_locker(self, ttl: timedelta) -> Locker:
        """A new locker on the one backend that the tests are about. It is also called in other processes, without
        fixtures, on an object of the class that has been made for that."""
        raise NotImplementedError

    # --- one holds --------------------------------------------------------------------------------

    def test_a_lock_has_one_holder(self) -> None:
        lock = new_lock()
        assert self._locker().acquire_many([lock]) == [None]
        assert self._is_held(lock.key)

    def test_locks_of_different_keys_have_nothing_to_do_with_each_other(self) -> None:
        locks = [new_lock(), new_lock()]
        assert [self._locker().acquire_many([lock]) for lock in locks] == [[None], [None]]

    def test_a_batch_is_answered_in_order_and_refused_in_part(self) -> None:
        keys = [new_key() for _ in range(5)]
        self._locker().acquire_many([new_lock(keys[3]), new_lock(keys[1])])
        answers = self._locker().acquire_many([new_lock(key) for key in keys])
        assert [answer is None for answer in answers] == [True, False, True, False, True]

    def test_a_thousand_locks_are_acquired_extended_and_released_in_a_batch(self) -> None:
        locker, locks = self._locker(), [new_lock() for _ in range(self.contended_keys)]
        assert locker.acquire_many(locks) == [None] * len(locks)
        assert locker.extend_many(locks) == [True] * len(locks)
        assert locker.release_many(locks) == [True] * len(locks)

    def test_an_empty_batch_is_nothing(self) -> None:
        locker = self._locker()
        assert [locker.acquire_many([]), locker.extend_many([]), locker.release_many([])] == [[], [], []]

    def test_the_same_token_acquires_again(self) -> None:
        lock = new_lock()
        assert self._locker().acquire_many([lock]) == [None]
        assert self._locker().acquire_many([lock]) == [None]

    def test_acquired_again_a_lock_outlasts_its_first_ttl(self) -> None:
        locker, lock = self._locker(RENEWED), new_lock()
        self._outlast_ttl(lock, lambda: locker.acquire_many([lock]) == [None])

    def test_a_refusal_says_who_has_the_lock(self) -> None:
        if not self.names_holders:
            raise SkipTest("This locker does not tell who has a lock.")
        lock = new_lock(holder="web-1:4711, nächtlich " + "x" * 178)
        self._locker().acquire_many([lock])
        assert self._locker().acquire_many([new_lock(lock.key)]) == [Refusal(holder=lock.holder)]

    def test_keys_that_differ_are_different_locks(self) -> None:
        prefix = new_key()[:8]
        locks = [new_lock(f"{prefix}{key}") for key in ODD_KEYS]
        assert self._locker().acquire_many(locks) == [None] * len(locks)
        assert all(self._is_held(lock.key) for lock in locks)
        assert self._locker().release_many(locks) == [True] * len(locks)

    def test_of_many_in_threads_and_processes_one_gets_each_lock(self) -> None:
        keys = [new_key() for _ in range(self.contended_keys)]
        with crowds(type(self), want_in_crowd, PROCESSES) as everyone:
            got = [key for keys_of_one in everyone.tell(keys) for key in keys_of_one]
        assert sorted(got) == sorted(keys)

    def test_the_longest_tokens_that_differ_in_case_are_different(self) -> None:
        locker, key = self._locker(), new_key()
        ours, another = (Lock(key=key, holder="", token="a" * 63 + end) for end in ("b", "B"))
        assert locker.acquire_many([ours]) == [None]
        assert [locker.extend_many([another]), locker.release_many([another])] == [[False], [False]]
        assert locker.extend_many([ours]) == [True]

    # --- a lock ends ------------------------------------------------------------------------------

    def test_a_lock_is_free_once_its_ttl_is_over_and_not_before(self) -> None:
        lock, asked_at = new_lock(), clock.boottime()
        assert self._locker(SHORT).acquire_many([lock]) == [None]
        self._wait_and_acquire(lock.key)
        assert clock.boottime() - asked_at > SHORT.total_seconds() - LEEWAY

    def test_a_released_lock_is_free_at_once(self) -> None:
        lock = new_lock()
        self._locker().acquire_many([lock])
        assert self._locker().release_many([lock]) == [True]
        assert not self._is_held(lock.key)

    def test_a_lock_is_released_once(self) -> None:
        locker, lock = self._locker(), new_lock()
        locker.acquire_many([lock])
        assert [locker.release_many([lock]), locker.release_many([lock])] == [[True], [False]]

    def test_another_thread_extends_and_releases_a_lock(self) -> None:
        locker, lock = self._locker(), new_lock()
        locker.acquire_many([lock])
        answers = in_thread(lambda: [*locker.extend_many([lock]), *locker.release_many([lock])])
        assert answers == [True, True]
        assert not self._is_held(lock.key)

    def test_who_does_not_hold_a_lock_cannot_release_it(self) -> None:
        lock = new_lock()
        self._locker().acquire_many([lock])
        assert self._locker().release_many([new_lock(lock.key)]) == [False]
        assert self._is_held(lock.key)

    def test_a_lock_that_nobody_has_cannot_be_released(self) -> None:
        assert self._locker().release_many([new_lock()]) == [False]

    def test_releases_and_extensions_are_answered_in_order(self) -> None:
        locker, locks = self._locker(), [new_lock() for _ in range(3)]
        locker.acquire_many([locks[2], locks[0]])
        assert locker.extend_many(locks) == [True, False, True]
        assert locker.release_many(locks) == [True, False, True]

    # --- extending --------------------------------------------------------------------------------

    def test_extended_a_lock_outlasts_its_first_ttl(self) -> None:
        locker, lock = self._locker(RENEWED), new_lock()
        locker.acquire_many([lock])
        self._outlast_ttl(lock, lambda: locker.extend_many([lock]) == [True])

    def test_who_does_not_hold_a_lock_cannot_extend_it(self) -> None:
        lock = new_lock()
        self._locker(SHORT).acquire_many([lock])
        assert self._locker().extend_many([new_lock(lock.key)]) == [False]
        self._wait_and_acquire(lock.key)  # which would take a minute had it been extended

    def test_extending_takes_no_lock_that_is_free(self) -> None:
        lock = new_lock()
        assert self._locker().extend_many([lock]) == [False]
        assert not self._is_held(lock.key)

    # --- what goes wrong --------------------------------------------------------------------------

    def test_a_holder_that_froze_past_its_ttl_takes_nothing_from_the_next(self) -> None:
        locker, late = self._locker(SHORT), new_lock()
        locker.acquire_many([late])
        successor = self._wait_and_acquire(late.key)
        assert [locker.extend_many([late]), locker.release_many([late])] == [[False], [False]]
        assert self._is_held(late.key)
        assert self._locker().extend_many([successor]) == [True]

    def test_a_holder_that_froze_past_its_ttl_does_not_bring_its_lock_back(self) -> None:
        locker, late = self._locker(SHORT), new_lock()
        locker.acquire_many([late])
        self._locker().release_many([self._wait_and_acquire(late.key)])
        assert locker.extend_many([late]) == [False]
        assert not self._is_held(late.key)

    def test_while_the_backend_is_away_nothing_is_known(self) -> None:
        outage = self.outage()
        if outage is None:
            raise SkipTest("This locker says nothing of outages.")
        locker, held, free = self._locker(), new_lock(), new_lock()
        locker.acquire_many([held])
        with outage:
            assert is_unknown(lambda: locker.acquire_many([new_lock(held.key), free]))
            assert is_unknown(lambda: locker.acquire_many([held]))
            assert raises_locker_error(lambda: locker.extend_many([held]))
            assert raises_locker_error(lambda: locker.release_many([held]))

    def test_it_does_not_matter_what_the_clocks_of_hosts_say(self) -> None:
        if self.uses_host_clock:
            raise SkipTest("The backend has no other clock than the host's.")
        now = clock.host_now()
        for skew in (timedelta(minutes=10), timedelta(minutes=-10)):
            before, during = new_lock(), new_lock()
            self._locker().acquire_many([before])
            with patch.object(clock, "host_now", return_value=now + skew):
                assert self._is_held(before.key)
                assert self._locker().acquire_many([during]) == [None]
            assert self._is_held(during.key)

    # --- means ------------------------------------------------------------------------------------

    def _locker(self, ttl: timedelta = LONG) -> Locker:
        return self.make_locker(ttl)

    def _is_held(self, key: str) -> bool:
        """Where it is not, it is only looked at: released again."""
        locker, lock = self._locker(), new_lock(key)
        (answer,) = locker.acquire_many([lock])
        if answer is None:
            assert locker.release_many([lock]) == [True]
            return False
        assert answer.error == ""
        return True

    def _wait_and_acquire(self, key: str) -> Lock:
        locker, lock = self._locker(), new_lock(key)
        wait_until(lambda: locker.acquire_many([lock]) == [None])
        return lock

    def _outlast_ttl(self, lock: Lock, keep: Callable[[], bool]) -> None:
        until = clock.boottime() + 1.75 * RENEWED.total_seconds()
        while clock.boottime() < until:
            assert keep()
            assert self._is_held(lock.key)
            clock.pause(LOOK_AGAIN)


def new_key() -> str:
    return uuid.uuid4().hex


def new_lock(key: str | None = None, *, holder: str = "test:1") -> Lock:
    """With a token that nobody else has."""
    return Lock(key=new_key() if key is None else key, holder=holder, token=uuid.uuid4().hex)


def in_thread(work: Callable[[], list[bool]]) -> list[bool]:
    """What ``work`` answers in a thread of its own, whose connections are closed at its end."""
    answers: list[bool] = []

    def run() -> None:
        with own_connections():
            answers.extend(work())

    thread = Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    return answers


def is_unknown(question: Callable[[], Sequence[Refusal | None]]) -> bool:
    """Whether a locker says that it cannot tell, of any lock."""
    try:
        return all(answer is not None and answer.error for answer in question())
    except LockerError:
        return True


def raises_locker_error(question: Callable[[], object]) -> bool:
    try:
        question()
    except LockerError:
        return True
    return False


def want_in_crowd(contract: LockerContract) -> Callable[[list[str]], list[str]]:
    """Of a thread of another process: told keys, it tries to get each lock once, in an order of its own, and answers
    which it got."""

    def want(keys: list[str]) -> list[str]:
        locker = contract.make_locker(LONG)
        locks = [new_lock(key) for key in random.sample(keys, len(keys))]
        batches = [locks[start : start + BATCH] for start in range(0, len(locks), BATCH)]
        answers = [answer for batch in batches for answer in locker.acquire_many(batch)]
        return [lock.key for lock, answer in zip(locks, answers, strict=True) if answer is None]

    return want
