"""What every elector must do, as tests for pytest. The electors of this package pass them, and so should yours."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from unittest import SkipTest
from unittest.mock import patch

from django_gocron import clock
from django_gocron.exceptions import ElectorError
from django_gocron.testing.contract import LEEWAY, LONG, LOOK_AGAIN, RENEWED, SHORT, Contract, wait_until
from django_gocron.testing.crowds import crowds

if TYPE_CHECKING:
    from collections.abc import Callable

    from django_gocron.electors.base import Elector

PROCESSES, ROUNDS = 3, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One instance, with an elector of its own, as in a process of its own."""

    elector: Elector
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    name: str = "candidate"

    def campaign(self) -> int | None:
        return self.elector.campaign(self.id, name=self.name)

    def resign(self) -> bool:
        return self.elector.resign(self.id)


class ElectorContract(Contract):
    """Subclass it as ``TestMyElector`` and override ``make_elector``; pytest finds the tests.

    Nobody may lead when a test begins: that is for a fixture of yours, or for an election of another name in each test.
    """

    def make_elector(self, ttl: timedelta) -> Elector:
        """An elector of the one election that the test is about. It is also called in other processes, without
        fixtures, on an object of the class that has been made for that."""
        raise NotImplementedError

    # --- one leads --------------------------------------------------------------------------------

    def test_of_many_candidates_the_first_leads(self) -> None:
        leader, *others = self._candidates(5)
        assert leader.campaign() is not None
        assert [other.campaign() for other in others] == [None] * 4

    def test_a_leader_stays_one_by_campaigning(self) -> None:
        leader, follower = self._candidates(2, ttl=RENEWED)
        term, until = leader.campaign(), clock.boottime() + 1.5 * RENEWED.total_seconds()
        assert term is not None
        while clock.boottime() < until:
            assert (leader.campaign(), follower.campaign()) == (term, None)
            clock.pause(LOOK_AGAIN)

    def test_candidates_in_threads_and_processes_that_campaign_at_once_elect_one(self) -> None:
        terms = []
        with crowds(type(self), stand_in_crowd, PROCESSES) as all_candidates:
            for _ in range(ROUNDS):
                elected = [term for term in all_candidates.tell("campaign") if term is not None]
                assert len(elected) == 1
                assert sum(all_candidates.tell("resign")) == 1
                terms += elected
        assert terms == sorted(set(terms))

    def test_takes_the_longest_id_and_any_name(self) -> None:
        (leader,) = self._candidates(1, id="a-Z9" * 16, name="two\nlines, ü " + "x" * 250)
        assert leader.campaign() == leader.campaign() is not None
        assert leader.resign() is True

    # --- leadership ends ----------------------------------------------------------------------------

    def test_a_follower_leads_once_the_ttl_is_over_and_not_before(self) -> None:
        leader, follower = self._candidates(2, ttl=SHORT)
        asked_at = clock.boottime()
        assert leader.campaign() is not None
        wait_until(lambda: follower.campaign() is not None)
        assert clock.boottime() - asked_at > SHORT.total_seconds() - LEEWAY

    def test_after_a_resignation_another_leads_at_once(self) -> None:
        leader, follower = self._candidates(2)
        leader.campaign()
        assert leader.resign() is True
        assert follower.campaign() is not None
        assert leader.campaign() is None

    def test_who_does_not_lead_cannot_resign(self) -> None:
        leader, follower, third = self._candidates(3)
        term = leader.campaign()
        assert (follower.resign(), third.resign()) == (False, False)
        assert (leader.campaign(), follower.campaign()) == (term, None)

    def test_who_has_resigned_cannot_again(self) -> None:
        (leader,) = self._candidates(1)
        leader.campaign()
        assert (leader.resign(), leader.resign()) == (True, False)

    def test_a_leader_that_froze_past_its_ttl_takes_nothing_from_the_next(self) -> None:
        late, successor = self._candidates(2, ttl=SHORT)
        late.campaign()
        wait_until(lambda: successor.campaign() is not None)
        term = successor.campaign()
        assert (late.campaign(), late.resign()) == (None, False)
        assert successor.campaign() == term is not None

    # --- terms --------------------------------------------------------------------------------------

    def test_each_change_of_leader_begins_a_later_term(self) -> None:
        first, second = self._candidates(2)
        terms = []
        for leader in (first, second, first):
            terms.append(leader.campaign() or 0)
            leader.resign()
        assert 0 < terms[0] < terms[1] < terms[2]

    def test_a_renewal_begins_no_term(self) -> None:
        (leader,) = self._candidates(1)
        assert len({leader.campaign() for _ in range(3)} - {None}) == 1

    # --- what goes wrong ------------------------------------------------------------------------------

    def test_while_the_backend_is_away_nothing_is_known(self) -> None:
        outage = self.outage()
        if outage is None:
            raise SkipTest("This elector says nothing of outages.")
        leader, follower = self._candidates(2)
        leader.campaign()
        with outage:
            for question in (leader.campaign, follower.campaign, leader.resign):
                assert _raises_elector_error(question)

    def test_it_does_not_matter_what_the_clocks_of_hosts_say(self) -> None:
        if self.uses_host_clock:
            raise SkipTest("The backend has no other clock than the host's.")
        leader, follower = self._candidates(2)
        term, now = leader.campaign(), clock.host_now()
        for skew in (timedelta(days=1), timedelta(days=-1)):
            with patch.object(clock, "host_now", return_value=now + skew):
                assert (follower.campaign(), leader.campaign()) == (None, term)
            assert (follower.campaign(), leader.campaign()) == (None, term)

    def _candidates(
        self, number: int, *, ttl: timedelta = LONG, id: str | None = None, name: str = "candidate"
    ) -> list[Candidate]:
        return [
            Candidate(elector=self.make_elector(ttl), id=id or str(uuid.uuid4()), name=name)
            for _ in range(number)
        ]


def _raises_elector_error(question: Callable[[], object]) -> bool:
    try:
        question()
    except ElectorError:
        return True
    return False


def stand_in_crowd(contract: ElectorContract) -> Callable[[str], object]:
    """A candidate of a thread of another process: it does what it is told, ``campaign`` or ``resign``."""
    candidate = Candidate(elector=contract.make_elector(LONG))
    return lambda word: getattr(candidate, word)()
