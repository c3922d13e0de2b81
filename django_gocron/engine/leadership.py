"""Leadership, as one instance knows it: who leads is the elector's to say, how long that may be believed is reckoned
here.

    follower ──the elector says so──> leader ──it says so again──> leader, trusted for longer
                                        │
                                        └──taken, expired, resigned──> follower

* The elector's thread campaigns every second, and moves the state both ways. Whatever the answer brings counts from
  before the question: a process that freezes in between wakes up a follower.
* While the elector does not answer, what is believed stays so until ``trust_until``: the TTL less a margin, on the
  clock since boot. Then it expires, for whoever asks, whatever the thread is doing.
* An instance that does not trust its own lease may not claim, so it does not lead either: it resigns, and campaigns
  again when it has renewed. One that was declared dead and goes on under another id is a follower from that moment;
  the thread gives up the old candidacy for the new one.
* The thread that stops the scheduler resigns, once the elector's has ended, and lets followers know where the database
  can tell them. After a crash nobody does: another leads when the TTL is over.

Nothing here decides about runs: two leaders, should an elector be wrong, claim no tick twice.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import DATABASE_ERRORS, statement
from django_gocron.engine.wakeup import notify
from django_gocron.exceptions import ElectorError, describe
from django_gocron.models import Instance

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django_gocron.clock import Clock
    from django_gocron.electors.base import Elector
    from django_gocron.engine.lease import Lease

logger = logging.getLogger("django_gocron")

LONGEST_PERIOD = 1.0
"""Seconds between two campaigns; a third of the TTL where that is less."""

LEAST_MARGIN = 1.0
"""Seconds by which trust ends before the TTL does, at least: a tenth of the TTL when that is more, and a fifth of one
so short that a second would be too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """That this instance leads, and until when it may believe so, in seconds since boot."""

    instance: UUID
    term: int
    trust_until: float


class AlwaysLeader:
    """Where no elector is configured, every instance may do what only a leader may."""

    is_leader = True

    def campaign(self) -> None:
        """There is nobody to ask."""

    def wait_for_answer(self, seconds: float) -> None:
        """There is none to wait for."""

    def wake(self) -> None:
        """Nobody waits."""

    def resign(self) -> None:
        """There is nothing to hand over."""


class Leadership:
    """``is_leader``, ``wake`` and ``wait_for_answer`` may be called from any thread, the rest from the elector's;
    ``resign`` from another once that has ended. ``on_gain`` is called, in the thread that campaigns, when this
    instance begins to lead."""

    def __init__(
        self, using: str, clock: Clock, lease: Lease, elector: Elector, *, on_gain: Callable[[], None]
    ) -> None:
        self._using = using
        self._clock = clock
        self._lease = lease
        self._elector = elector
        self._on_gain = on_gain
        self._ttl = elector.ttl.total_seconds()
        self._candidate: UUID | None = None
        self._office: Office | None = None
        self._silent_since: float | None = None
        self._unrecorded: dict[UUID, int | None] = {}
        self._wake = threading.Event()
        self._has_asked = threading.Event()

    @property
    def is_leader(self) -> bool:
        """Whether this instance may believe that it leads. No I/O."""
        office = self._office
        return (
            office is not None
            and office.instance == self._lease.instance_id
            and self._clock.boottime() < office.trust_until
        )

    def step(self) -> None:
        """One campaign, then the wait for the next. Whatever the elector raises is an outage, and goes no further."""
        self.campaign()
        self._wake.wait(self._seconds_to_next())
        self._wake.clear()

    def wake(self) -> None:
        self._wake.set()

    def wait_for_answer(self, seconds: float) -> None:
        """Return once the first campaign is over, or after ``seconds``."""
        self._has_asked.wait(seconds)

    def campaign(self) -> None:
        """Ask the elector once, and act on what it says."""
        self._note_expiry()
        candidate, is_trusted = self._lease.instance_id, self._lease.is_trusted
        if not is_trusted or candidate != self._candidate:
            self._withdraw()
        if is_trusted:
            self._ask(candidate)
        self._record()
        self._has_asked.set()

    def resign(self) -> None:
        """Lead no more, so that another can at once. The elector is asked even where this instance does not know that
        it leads: an answer may have been lost. Where there is no answer now, the TTL runs out."""
        self._note_expiry()
        self._withdraw()
        self._record()

    def _ask(self, candidate: UUID) -> None:
        self._candidate = candidate
        asked_at = self._clock.boottime()
        try:
            barriers.reach("elect.before")
            term = self._elector.campaign(str(candidate), name=self._lease.name)
            barriers.reach("elect.after")
        except Exception as error:  # noqa: BLE001 - others' code: whatever it raises, nothing is known
            self._note_silence(error)
            return
        self._note_speech()
        self._note_expiry()
        self._note_answer(candidate, term, asked_at)

    def _note_answer(self, candidate: UUID, term: int | None, asked_at: float) -> None:
        trust_until = asked_at + self._ttl - self._margin
        if term is None:
            self._lose("taken")
        elif self._clock.boottime() >= trust_until:
            logger.warning("The elector's answer took so long that the leadership it gave is over.")
        elif self._office is not None and self._office.term == term:
            self._office = replace(self._office, trust_until=trust_until)
        else:
            self._lose("taken")
            self._gain(Office(instance=candidate, term=term, trust_until=trust_until))

    def _withdraw(self) -> None:
        candidate, self._candidate = self._candidate, None
        if candidate is None:
            return
        self._lose("resigned")
        try:
            has_led = self._elector.resign(str(candidate))
        except Exception as error:  # noqa: BLE001 - as in a campaign
            logger.warning("Leadership could not be handed over (%s); it will run out.", describe(error))
            return
        if has_led:
            with suppress(*DATABASE_ERRORS):  # they look every second anyhow
                notify(self._using)

    def _note_expiry(self) -> None:
        if self._office is not None and self._clock.boottime() >= self._office.trust_until:
            self._lose("expired")

    def _gain(self, office: Office) -> None:
        self._office = office
        self._unrecorded[office.instance] = office.term
        events.publish(
            events.LeadershipGained(
                at=self._clock.now(), instance=office.instance, name=self._lease.name, term=office.term
            )
        )
        self._on_gain()

    def _lose(self, reason: str) -> None:
        """Nothing, where this instance does not lead."""
        office, self._office = self._office, None
        if office is None:
            return
        self._unrecorded[office.instance] = None
        events.publish(
            events.LeadershipLost(
                at=self._clock.now(),
                instance=office.instance,
                name=self._lease.name,
                term=office.term,
                reason=reason,
            )
        )

    def _note_silence(self, error: Exception) -> None:
        """Said once. What an elector is not expected to raise comes with its traceback."""
        if self._silent_since is not None:
            return
        self._silent_since = self._clock.boottime()
        fault = None if isinstance(error, ElectorError) else error
        logger.error("The elector cannot say who leads (%s).", describe(error), exc_info=fault)

    def _note_speech(self) -> None:
        if self._silent_since is not None:
            silence = self._clock.boottime() - self._silent_since
            self._silent_since = None
            logger.warning("The elector answers again, after %.1f s.", silence)

    def _record(self) -> None:
        """For people to see. What cannot be written now is tried again at the next campaign."""
        for instance, term in tuple(self._unrecorded.items()):
            row = Instance.objects.using(self._using).filter(pk=instance)
            try:
                statement(self._using, partial(row.update, term=term), attempts=1)
            except DATABASE_ERRORS as error:
                logger.debug("The term could not be written: %s", error)
                return
            del self._unrecorded[instance]

    @property
    def _margin(self) -> float:
        return max(self._ttl / 10, min(LEAST_MARGIN, self._ttl / 5))

    def _seconds_to_next(self) -> float:
        """Not beyond the end of the trust, of which everybody is to know at once."""
        period = min(self._ttl / 3, LONGEST_PERIOD)
        if self._office is None:
            return period
        return max(0.0, min(period, self._office.trust_until - self._clock.boottime()))
