"""Locks in Redis or Valkey through django-redis, in one step each: a script that looks whose the lock is and acts.

A batch is one round trip. The scripts go to django-redis's raw client: what stands above it may be set to swallow
errors, and then a server that is away looks like a lock that is held.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django_gocron.lockers.base import Refusal
from django_gocron.lockers.caching import CacheLocks, mark, read_holder, write_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django_gocron.lockers.base import Lock

ACQUIRE = """
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return false
"""
"""Answers nothing where the lock is ours now, else the value that is there."""

EXTEND = """
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""

RELEASE = """
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""


class RedisLocks(CacheLocks):
    is_atomic = True

    def acquire_many(self, locks: Sequence[Lock]) -> list[Refusal | None]:
        answers = self._call(
            ACQUIRE, [(lock, mark(lock), write_value(lock), self._milliseconds) for lock in locks]
        )
        return [_judge(answer) for answer in answers]

    def extend_many(self, locks: Sequence[Lock]) -> list[bool]:
        answers = self._call(EXTEND, [(lock, mark(lock), self._milliseconds) for lock in locks])
        return [answer == 1 for answer in _known(answers)]

    def release_many(self, locks: Sequence[Lock]) -> list[bool]:
        answers = self._call(RELEASE, [(lock, mark(lock)) for lock in locks])
        return [answer == 1 for answer in _known(answers)]

    @property
    def _milliseconds(self) -> int:
        return -(-self._ttl // timedelta(milliseconds=1))

    def _call(self, script: str, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """One round trip. An error of a single key is its answer; one of the connection is raised."""
        if not calls:
            return []
        cache: Any = self._cache
        pipeline = cache.client.get_client(write=True).pipeline(transaction=False)
        for lock, *arguments in calls:
            pipeline.eval(script, 1, str(cache.make_key(self._name(lock.key))), *arguments)
        answers: list[Any] = pipeline.execute(raise_on_error=False)
        return answers


def _judge(answer: Any) -> Refusal | None:
    if answer is None:
        return None
    if isinstance(answer, Exception):
        return Refusal(error=f"{type(answer).__name__}: {answer}")
    return Refusal(
        holder=read_holder(answer.decode(errors="replace") if isinstance(answer, bytes) else answer)
    )


def _known(answers: list[Any]) -> list[Any]:
    """A key whose value is of another type is not ours; but where all have failed, nothing is known."""
    if answers and all(isinstance(answer, Exception) for answer in answers):
        raise answers[0]
    return answers
