"""Locks outside the ledger: what ``GOCRON["LOCKERS"]`` names, in addition to the ledger's own lock and before it.

A run asks its locker ahead of its start, and again at its instant if that was refused; only then it is skipped, or
starts all the same where its job asks for that and the locker does not answer. The lock is released once the task's
code has ended, before its result is written: whoever sees the job free finds its lock free too. Whatever a locker
answers, the ledger's unique keys are the last word.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine.entries import DEFAULT_LOCKER
from django_gocron.engine.keeper import Keeper
from django_gocron.lockers.base import Lock, Locker, Refusal
from django_gocron.models.choices import OnLockError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from django_gocron.backends import Backend
    from django_gocron.clock import Clock
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry, Memory


class ExternalLocks:
    """``acquire`` and ``refusal_of`` are called from the timer's thread, ``release`` from the writer's too.

    Raises ``ConfigurationError`` (``bad_backend``) for a locker that cannot be made.
    """

    def __init__(
        self,
        using: str,
        backends: Mapping[str, Backend] | None,
        clock: Clock,
        memory: Memory,
        lease: Lease,
    ) -> None:
        self.on_refused: Callable[[Entry, Refusal], None] | None = None
        self._is_off = backends is None
        self._clock = clock
        self._lease = lease
        self._refusals: dict[int, Refusal] = {}
        self._keepers = {
            alias: Keeper(using, alias, _make(backend), clock, memory, self._tell_lost)
            for alias, backend in (backends or {}).items()
        }

    def start(self) -> None:
        for keeper in self._keepers.values():
            keeper.start()

    def stop(self, seconds: float) -> None:
        """Release every lock; wait for that up to ``seconds``."""
        deadline = self._clock.boottime() + seconds
        for keeper in self._keepers.values():
            keeper.ask_to_stop()
        for keeper in self._keepers.values():
            keeper.join(deadline - self._clock.boottime())

    def acquire(self, entries: Sequence[Entry]) -> list[Entry]:
        """Take the locks of those that need one; answer those that may start. Why the others may not, ``refusal_of``
        tells."""
        refused: dict[Entry, Refusal] = {}
        for alias, mine in self._by_alias(entries).items():
            refused |= self._ask(alias, mine)
        stopped = {entry: refusal for entry, refusal in refused.items() if not _runs_anyway(entry, refusal)}
        self._refusals = {entry.run_id: refusal for entry, refusal in stopped.items()}
        for entry in refused.keys() - stopped.keys():
            self.tell_refused(entry, refused[entry])
        return [entry for entry in entries if entry not in stopped]

    def refusal_of(self, entry: Entry) -> Refusal | None:
        """Why the entry was refused its lock when it last asked."""
        return self._refusals.get(entry.run_id)

    def release(self, entries: Iterable[Entry]) -> None:
        """Free the locks of these runs, if they have any."""
        for alias, mine in self._by_alias(entries).items():
            if alias in self._keepers:
                self._keepers[alias].release([entry.run_id for entry in mine])

    def tell_refused(self, entry: Entry, refusal: Refusal) -> None:
        """Publish that the run has no lock at its instant, and tell ``on_refused``."""
        events.publish(
            events.LockNotAcquired(
                at=self._clock.now(),
                reason=reason_of(refusal).value,
                locker=entry.locker,
                key=_key(entry),
                holder=refusal.holder,
                error=refusal.error,
                runs_anyway=_runs_anyway(entry, refusal),
                **entry.identity(),
            )
        )
        if self.on_refused is not None:
            self.on_refused(entry, refusal)

    def _by_alias(self, entries: Iterable[Entry]) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = defaultdict(list)
        if self._is_off:
            return found
        for entry in entries:
            if entry.locker and (entry.locker != DEFAULT_LOCKER or DEFAULT_LOCKER in self._keepers):
                found[entry.locker].append(entry)
        return found

    def _ask(self, alias: str, entries: Sequence[Entry]) -> dict[Entry, Refusal]:
        if alias not in self._keepers:
            known = ", ".join(map(repr, self._keepers)) or "none"
            words = f"No locker is called {alias!r} here. The setting GOCRON['LOCKERS'] names: {known}."
            return dict.fromkeys(entries, Refusal(error=words))
        return self._keepers[alias].acquire({entry: self._lock(entry) for entry in entries})

    def _lock(self, entry: Entry) -> Lock:
        """The same whenever the same claim asks: so it can ask again where an answer got lost."""
        holder = f"{self._lease.name}, run {entry.run_id}"
        return Lock(key=_key(entry), holder=holder[-200:], token=f"{entry.claim_id.hex}{entry.run_id}")

    def _tell_lost(self, entry: Entry, lock: Lock) -> None:
        entry.lock_lost.set()
        events.publish(
            events.LockLost(at=self._clock.now(), locker=entry.locker, key=lock.key, **entry.identity())
        )


def _make(backend: Backend) -> Locker:
    return backend.make(Locker)  # type: ignore[type-abstract]


def reason_of(refusal: Refusal) -> Reason:
    """An outage is not contention."""
    return Reason.LOCK_ERROR if refusal.error else Reason.LOCK_BUSY


def words_of(refusal: Refusal) -> str:
    """For the run's row."""
    if refusal.error:
        return f"The locker could not answer. {refusal.error}"
    return f"The lock is held by {refusal.holder}." if refusal.holder else "The lock is held."


def _runs_anyway(entry: Entry, refusal: Refusal) -> bool:
    return bool(refusal.error) and entry.on_lock_error == OnLockError.RUN


def _key(entry: Entry) -> str:
    """The job's name; where its runs may overlap, the tick too."""
    return entry.job_name if entry.lock_key else f"{entry.job_name}@{entry.scheduled_for.isoformat()}"
