"""The contract of an elector: of several candidates one leads, for a TTL that it has to renew.

    follower ──campaign──> leader ──campaign──> leader, for another TTL
                             └──resign, or TTL over──> follower

A scheduler makes one object of the elector that ``GOCRON["ELECTOR"]`` names, campaigns every second from one thread of
its own, and trusts the answer until the TTL, counted from before it asked and less a margin, is over. Correctness does
not hang on it: should two lead, every tick still runs once. ``django_gocron.testing.ElectorContract`` is the test suite
of this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta


class Elector(ABC):
    """Subclasses take their ``OPTIONS`` as keyword arguments, and raise ``ConfigurationError`` for wrong ones.

    ``candidate`` is the id of an instance: at most 64 letters, digits and hyphens. ``name`` tells people who that is.
    Both methods may raise ``ElectorError`` when nothing is known; whatever else one raises is taken for that. They are
    called one at a time, ``resign`` at the stop from another thread.
    """

    ttl: timedelta
    """How long leadership lasts from when it is gained or renewed."""

    @abstractmethod
    def campaign(self, candidate: str, *, name: str) -> int | None:
        """Become the leader where there is none, or stay it. Answers the number of the term, which grows with every
        change of leader, or None: another leads, or nobody yet. Never waits for its turn."""

    @abstractmethod
    def resign(self, candidate: str) -> bool:
        """Lead no more, so that another can at once. False: the candidate did not lead, or not for much longer, and
        nothing has changed."""
