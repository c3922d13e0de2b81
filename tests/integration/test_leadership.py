"""Leadership: what an instance believes of it, for how long, and what it tells."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db import OperationalError

from django_gocron import events
from django_gocron.clock import SystemClock
from django_gocron.electors.base import Elector
from django_gocron.electors.cache import CacheElector
from django_gocron.electors.database import DatabaseElector
from django_gocron.engine import barriers, leadership
from django_gocron.engine.barriers import Plan
from django_gocron.engine.leadership import AlwaysLeader, Leadership
from django_gocron.engine.lease import Lease
from django_gocron.engine.outage import Outage
from django_gocron.engine.threads import EngineThread
from django_gocron.exceptions import ElectorError
from django_gocron.models import Instance
from django_gocron.testing import FakeClock
from tests.handdriven import DATABASE, LEASE, REAL_TRANSACTIONS
from tests.heard import PATIENCE, Heard
from tests.services.servers import ServerAbsentError, start_redis

pytestmark = REAL_TRANSACTIONS

TTL = timedelta(seconds=15)
TRUST = 13.5  # seconds: the TTL less a tenth


class ElectorByHand(Elector):
    """Answers what a test has it answer, ``takes`` seconds later."""

    def __init__(self, clock: FakeClock, ttl: timedelta = TTL) -> None:
        self.ttl = ttl
        self.clock = clock
        self.answer: int | Exception | None = None
        self.takes = 0.0
        self.asked: list[tuple[str, str]] = []
        self.resigned: list[str] = []
        self.silent_on_resigning = False
        self.before_it_answers: Callable[[], object] = lambda: None

    def campaign(self, candidate: str, *, name: str) -> int | None:
        self.asked.append((candidate, name))
        self.clock.advance(self.takes)
        self.before_it_answers()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def resign(self, candidate: str) -> bool:
        self.resigned.append(candidate)
        if self.silent_on_resigning:
            raise away()
        return True


class ByHand:
    """One instance's leadership, on a clock that stands still, with an elector that a test speaks for."""

    def __init__(self, ttl: timedelta = TTL) -> None:
        self.clock = FakeClock()
        self.elector = ElectorByHand(self.clock, ttl)
        self.gained = 0
        self.lease = Lease(DATABASE, self.clock, duration=LEASE, name="left", labels=(), workers=1)
        self.lease.register()
        self.leadership = Leadership(DATABASE, self.clock, self.lease, self.elector, on_gain=self._note_gain)

    @property
    def term_of_row(self) -> int | None:
        return Instance.objects.get(pk=self.lease.instance_id).term

    def campaign(self, answer: int | Exception | None, *, after: float = 0.0) -> bool:
        """Ask again ``after`` seconds; answer whether this instance leads then."""
        self.clock.advance(after)
        self.elector.answer = answer
        self.leadership.campaign()
        return self.leadership.is_leader

    def _note_gain(self) -> None:
        self.gained += 1


def away() -> ElectorError:
    return ElectorError("nobody home", code="elector_unavailable")


def told(heard: Heard) -> list[tuple[str, int]]:
    """What changed, in turn: why, and which term began or ended."""
    return [(getattr(event, "reason", "gained"), event.term) for event in heard]


def hear() -> Heard:
    return Heard(events.LeadershipGained, events.LeadershipLost)


# --- what is believed --------------------------------------------------------------------------------


def test_an_instance_follows_until_the_elector_says_that_it_leads():
    left = ByHand()
    assert not left.leadership.is_leader
    assert left.campaign(None) is False
    assert left.campaign(7) is True


def test_an_instance_campaigns_under_its_id_and_the_name_that_people_know():
    left = ByHand()
    left.campaign(None)
    assert left.elector.asked == [(str(left.lease.instance_id), "left")]


@pytest.mark.parametrize(("ttl", "trust"), [(60, 54), (15, 13.5), (6, 5), (2, 1.6)])
def test_leadership_is_believed_for_the_ttl_less_a_margin(ttl: float, trust: float):
    left = ByHand(timedelta(seconds=ttl))
    left.campaign(7)
    left.clock.advance(trust - 0.01)
    assert left.leadership.is_leader
    left.clock.advance(0.02)
    assert not left.leadership.is_leader


def test_what_is_believed_counts_from_before_the_question():
    left = ByHand()
    left.elector.takes = 5
    assert left.campaign(7) is True
    left.clock.advance(TRUST - 5.01)
    assert left.leadership.is_leader
    left.clock.advance(0.02)
    assert not left.leadership.is_leader


def test_a_renewal_lets_it_be_believed_for_longer():
    left = ByHand()
    left.campaign(7)
    left.campaign(7, after=TRUST - 1)
    left.clock.advance(TRUST - 1)
    assert left.leadership.is_leader


def test_an_answer_that_comes_too_late_makes_nobody_lead(caplog: pytest.LogCaptureFixture):
    left = ByHand()
    left.elector.takes = TRUST
    with hear() as heard:
        assert left.campaign(7) is False
    assert told(heard) == []
    assert "so long" in caplog.text


def test_setting_the_wall_clock_changes_nothing():
    left = ByHand()
    left.campaign(7)
    left.clock.set(left.clock.now() + timedelta(days=1))
    assert left.leadership.is_leader


def test_whether_an_instance_leads_is_known_without_asking(django_assert_num_queries: Any):
    left = ByHand()
    left.campaign(7)
    with django_assert_num_queries(0):
        assert [left.leadership.is_leader for _ in range(3)] == [True] * 3
    assert len(left.elector.asked) == 1


def test_without_an_elector_everybody_leads():
    everybody = AlwaysLeader()
    everybody.resign()
    assert everybody.is_leader


# --- what is told --------------------------------------------------------------------------------------


def test_a_change_is_told_once():
    left = ByHand()
    with hear() as heard:
        for answer in (None, 7, 7, 7, None, None):
            left.campaign(answer, after=1)
    assert told(heard) == [("gained", 7), ("taken", 7)]


def test_what_is_told_names_the_instance():
    left = ByHand()
    with hear() as heard:
        left.campaign(7)
        left.campaign(None)
    assert {(event.instance, event.name) for event in heard} == {(left.lease.instance_id, "left")}


def test_who_leads_again_in_a_later_term_had_lost_it():
    left = ByHand()
    with hear() as heard:
        left.campaign(7)
        assert left.campaign(9) is True
    assert told(heard) == [("gained", 7), ("taken", 7), ("gained", 9)]


def test_that_it_ran_out_is_told_once_although_nobody_answers():
    left = ByHand()
    left.campaign(7)
    with hear() as heard:
        for _ in range(30):
            left.campaign(away(), after=1)
    assert told(heard) == [("expired", 7)]


def test_that_it_ran_out_is_told_before_the_next_question():
    left = ByHand()
    left.campaign(7)
    with hear() as heard:
        left.elector.before_it_answers = lambda: told_by_then.extend(told(heard))
        told_by_then: list[tuple[str, int]] = []
        left.campaign(away(), after=TRUST)
    assert told_by_then == [("expired", 7)]


def test_who_froze_and_still_leads_has_lost_and_gained_it():
    left = ByHand()
    left.campaign(7)
    with hear() as heard:
        assert left.campaign(7, after=TRUST) is True
    assert told(heard) == [("expired", 7), ("gained", 7)]


def test_trust_that_ran_out_during_the_question_is_told_too():
    left = ByHand()
    left.campaign(7)
    left.elector.takes = 5
    with hear() as heard:
        assert left.campaign(7, after=TRUST - 1) is True
    assert told(heard) == [("expired", 7), ("gained", 7)]


def test_the_loop_is_woken_when_leadership_begins_alone():
    left = ByHand()
    for answer in (None, 7, 7, away(), None):
        left.campaign(answer)
    assert left.gained == 1


def test_the_row_of_the_instance_has_the_term_while_it_leads():
    left = ByHand()
    terms = []
    for answer in (None, 7, 7, None, 9):
        left.campaign(answer)
        terms.append(left.term_of_row)
    assert terms == [None, 7, 7, None, 9]


def test_a_renewal_writes_nothing(django_assert_num_queries: Any):
    left = ByHand()
    left.campaign(7)
    with django_assert_num_queries(0):
        left.campaign(7)


def test_a_term_that_cannot_be_written_is_written_later(monkeypatch: pytest.MonkeyPatch):
    left = ByHand()

    def refuse(*args: object, **kwargs: object) -> None:
        raise OperationalError("the database is away")

    with monkeypatch.context() as broken:
        broken.setattr(leadership, "statement", refuse)
        assert left.campaign(7) is True
    assert left.term_of_row is None
    assert left.campaign(7) is True
    assert left.term_of_row == 7


# --- an elector that does not answer ---------------------------------------------------------------


def test_while_the_elector_does_not_answer_a_leader_leads_until_its_trust_ends():
    left = ByHand()
    left.campaign(7)
    assert [left.campaign(away(), after=5) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("error", [away(), OSError("nobody home"), KeyError("a fault of the elector's")])
def test_whatever_an_elector_raises_makes_nobody_lead_and_stops_nothing(error: Exception):
    left = ByHand()
    assert left.campaign(error) is False
    assert left.campaign(7) is True


def test_silence_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture):
    left = ByHand()
    for answer in (away(), away(), away(), None, None):
        left.campaign(answer, after=1)
    lines = [record.getMessage() for record in caplog.records if record.name == "django_gocron"]
    assert lines == [
        "The elector cannot say who leads (nobody home).",
        "The elector answers again, after 3.0 s.",
    ]


def test_a_second_silence_is_logged_again(caplog: pytest.LogCaptureFixture):
    left = ByHand()
    for answer in (away(), None, away()):
        left.campaign(answer)
    assert caplog.text.count("nobody home") == 2


def test_what_no_elector_should_raise_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture):
    left = ByHand()
    left.campaign(away())
    left.campaign(None)
    left.campaign(KeyError("a fault"))
    assert [bool(record.exc_info) for record in caplog.records if record.levelno == logging.ERROR] == [
        False,
        True,
    ]


# --- giving it up --------------------------------------------------------------------------------------


def test_who_resigns_leads_no_more_and_tells():
    left = ByHand()
    left.campaign(7)
    with hear() as heard:
        left.leadership.resign()
        left.leadership.resign()
    assert not left.leadership.is_leader
    assert told(heard) == [("resigned", 7)]
    assert left.elector.resigned == [str(left.lease.instance_id)]
    assert left.term_of_row is None


def test_who_may_lead_without_knowing_it_resigns_too():
    left = ByHand()
    left.campaign(away())
    left.leadership.resign()
    assert left.elector.resigned == [str(left.lease.instance_id)]


def test_who_never_campaigned_has_nothing_to_resign():
    left = ByHand()
    left.leadership.resign()
    assert left.elector.resigned == []


def test_an_elector_that_does_not_answer_keeps_nobody_from_resigning(caplog: pytest.LogCaptureFixture):
    left = ByHand()
    left.campaign(7)
    left.elector.silent_on_resigning = True
    left.leadership.resign()
    assert not left.leadership.is_leader
    assert "could not be handed over (nobody home)" in caplog.text


def test_an_instance_that_is_another_now_leads_no_more_before_its_next_campaign():
    left = ByHand()
    left.campaign(7)
    left.lease.register()
    assert not left.leadership.is_leader


def test_an_instance_that_is_another_now_gives_up_the_old_candidacy_for_the_new():
    left = ByHand()
    left.campaign(7)
    before = left.lease.instance_id
    left.lease.register()
    with hear() as heard:
        assert left.campaign(8) is True
    assert left.elector.resigned == [str(before)]
    assert left.elector.asked[-1] == (str(left.lease.instance_id), "left")
    assert [(event.instance, reason) for event, (reason, _) in zip(heard, told(heard), strict=True)] == [
        (before, "resigned"),
        (left.lease.instance_id, "gained"),
    ]
    assert dict(Instance.objects.values_list("pk", "term")) == {before: None, left.lease.instance_id: 8}


def test_an_instance_that_does_not_trust_its_lease_makes_room_for_one_that_does():
    left = ByHand()
    left.campaign(7)
    left.lease.distrust()
    with hear() as heard:
        assert [left.campaign(7), left.campaign(7)] == [False, False]
    assert told(heard) == [("resigned", 7)]
    assert (len(left.elector.asked), len(left.elector.resigned)) == (1, 1)
    left.lease.renew()
    assert left.campaign(8) is True


# --- the points of tests ------------------------------------------------------------------------------


@pytest.mark.parametrize(("point", "asked"), [("elect.before", 0), ("elect.after", 1)])
def test_a_fault_around_the_question_makes_nobody_lead(
    monkeypatch: pytest.MonkeyPatch, point: str, asked: int
):
    left = ByHand()
    monkeypatch.setattr(barriers, "_plan", Plan.read(f"{point}=raise"))
    assert left.campaign(7) is False
    assert len(left.elector.asked) == asked
    assert left.campaign(7) is True


# --- with threads and real electors ------------------------------------------------------------------


class Running:
    """An instance's leadership on a thread of its own, as in a scheduler."""

    def __init__(self, name: str, elector: Elector) -> None:
        clock = SystemClock()
        self.lease = Lease(DATABASE, clock, duration=LEASE, name=name, labels=(), workers=1)
        self.lease.register()
        self.leadership = Leadership(DATABASE, clock, self.lease, elector, on_gain=lambda: None)
        self.thread = EngineThread(
            "elector", DATABASE, Outage(clock), self.leadership.step, self.leadership.wake
        )
        self.thread.start()

    def die(self) -> None:
        """Without a word to anybody."""
        self.thread.stop(PATIENCE)


@contextmanager
def running(make_elector: Callable[[], Elector], *names: str) -> Iterator[dict[str, Running]]:
    instances = {name: Running(name, make_elector()) for name in names}
    try:
        yield instances
    finally:
        for instance in instances.values():
            instance.die()


def elect(heard: Heard, instances: dict[str, Running], number: int) -> tuple[Running, Running]:
    """Who gained leadership, as the ``number``th, and who did not."""
    name = heard.wait_for(number, where=lambda event: isinstance(event, events.LeadershipGained))[-1].name
    (other,) = instances.keys() - {name}
    return instances[name], instances[other]


def test_of_two_instances_one_leads():
    with hear() as heard, running(lambda: DatabaseElector(ttl=15), "left", "right") as instances:
        leader, follower = elect(heard, instances, 1)
        leader.leadership.wake()
        follower.leadership.wake()
        assert (leader.leadership.is_leader, follower.leadership.is_leader) == (True, False)
    assert len(heard) == 1


def test_when_the_leader_dies_the_other_leads_in_a_later_term():
    with hear() as heard, running(lambda: DatabaseElector(ttl=1), "left", "right") as instances:
        leader, follower = elect(heard, instances, 1)
        leader.die()
        successor, _ = elect(heard, instances, 2)
        assert successor is follower
        assert not leader.leadership.is_leader
    first, second = [event.term for event in heard if isinstance(event, events.LeadershipGained)][:2]
    assert first < second


def test_when_the_leader_resigns_the_other_leads_long_before_the_ttl_is_over():
    with hear() as heard, running(lambda: DatabaseElector(ttl=3600), "left", "right") as instances:
        leader, follower = elect(heard, instances, 1)
        leader.die()
        leader.leadership.resign()
        successor, _ = elect(heard, instances, 2)
        assert successor is follower
        assert Instance.objects.get(name=leader.lease.name).term is None


def test_that_it_ran_out_is_told_by_a_thread_whose_elector_is_away():
    class Fading(DatabaseElector):
        def campaign(self, candidate: str, *, name: str) -> int | None:
            if getattr(self, "has_answered", False):
                raise away()
            self.has_answered = True
            return super().campaign(candidate, name=name)

    with hear() as heard, running(lambda: Fading(ttl=1), "left"):
        lost = heard.wait_for(1, where=lambda event: isinstance(event, events.LeadershipLost))
    assert [event.reason for event in lost] == ["expired"]


def test_the_wait_between_two_campaigns_ends_when_it_is_woken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(leadership, "LONGEST_PERIOD", 3600.0)
    left = ByHand(timedelta(days=1))
    step = threading.Thread(target=left.leadership.step, daemon=True)
    left.leadership.wake()
    step.start()
    step.join(PATIENCE)
    assert not step.is_alive()


def test_when_the_cache_is_flushed_there_is_a_leader_again_at_the_next_campaign(settings):
    try:
        location = start_redis()
    except ServerAbsentError as error:
        pytest.skip(str(error))
    settings.CACHES = {"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": location}}
    left, right = (
        Leadership(DATABASE, one.clock, one.lease, CacheElector(ttl=3600), on_gain=lambda: None)
        for one in (ByHand(), ByHand())
    )
    for one in (left, right):
        one.campaign()
    assert (left.is_leader, right.is_leader) == (True, False)
    caches["default"].client.get_client().flushall()
    for one in (right, left):
        one.campaign()
    assert (left.is_leader, right.is_leader) == (False, True)
