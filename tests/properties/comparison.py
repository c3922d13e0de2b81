"""Holds the answers of a schedule against the oracle's, at the instants where they may well differ."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django_gocron.schedules import Schedule
from tests.properties.oracle import TicksIn, first_ticks, last_ticks, later_than
from tests.properties.subjects import Subject

SPANS = [timedelta(hours=4), *(timedelta(days=days) for days in (1, 3, 8, 20, 45, 110, 370, 1100, 4400))]
CENTURIES = timedelta(days=400 * 366)
MICROSECOND = timedelta(microseconds=1)
BEHIND, AHEAD = 3, 5


@dataclass(slots=True)
class Comparison:
    """One schedule, asked everything around one moment.

    The oracle knows every tick of [first, last]. Where it found too few, that is the longest span each way.
    Ticks are counted over ``long_span`` too, if there is one.
    """

    subject: InitVar[Subject]
    ticks_in: TicksIn
    spans: list[timedelta] = field(default_factory=lambda: SPANS)
    long_span: timedelta | None = None
    schedule: Schedule = field(init=False)
    context: dict[str, Any] = field(init=False)
    moment: datetime = field(init=False)
    known: list[datetime] = field(init=False)
    ahead: list[datetime] = field(init=False)
    first: datetime = field(init=False)
    last: datetime = field(init=False)
    made: int = 0

    def __post_init__(self, subject: Subject) -> None:
        self.schedule, self.context, self.moment = subject.schedule, subject.context, subject.moment
        self.ticks_in = later_than(subject.context["anchor"], self.ticks_in)
        behind = last_ticks(self.ticks_in, self.moment, enough=BEHIND, spans=self.spans)
        self.ahead = first_ticks(self.ticks_in, self.moment, enough=AHEAD, spans=self.spans)
        self.known = behind + self.ahead
        self.first = behind[0] if len(behind) >= BEHIND else self.moment - self.spans[-1]
        self.last = self.ahead[-1] if len(self.ahead) >= AHEAD else self.moment + self.spans[-1]

    def run(self, landmarks: Iterable[datetime]) -> int:
        """Ask at the moment, at the ticks beside it, at the landmarks. Returns the number of comparisons."""
        probes = self._probes(landmarks)
        self._compare_preview()
        for probe in probes:
            self._compare_next_after(probe)
            self._compare_latest_before(probe)
        for after, through in {(probes[0], probes[-1]), *pairwise(probes[:4])}:
            self._compare_count(after, through)
        if self.long_span:
            self._compare_count(self.moment - self.long_span / 2, self.moment + self.long_span)
        return self.made

    def _probes(self, landmarks: Iterable[datetime]) -> list[datetime]:
        here = bisect_right(self.known, self.moment)
        beside = self.known[max(here - 1, 0) : here + 2]
        just_before = (tick - MICROSECOND for tick in beside)
        wanted = {self.moment, *beside, *just_before, *landmarks}
        return sorted(probe for probe in wanted if self.first <= probe < self.last)

    def _compare_preview(self) -> None:
        ahead = self.ahead[:AHEAD]
        answer = list(self.schedule.preview(len(ahead), after=self.moment, **self.context))
        self._count(answer == ahead, "preview", self.moment, answer, ahead)

    def _compare_next_after(self, moment: datetime) -> None:
        answer = self.schedule.next_after(moment, **self.context)
        place = bisect_right(self.known, moment)
        if place < len(self.known):
            expected = self.known[place]
            self._count(answer == expected, "next_after", moment, answer, expected)
        else:
            agrees = self._is_over() if answer is None else answer > self.last and self._is_tick(answer)
            self._count(agrees, "next_after", moment, answer, f"nothing before {self.last}")

    def _compare_latest_before(self, moment: datetime) -> None:
        answer = self.schedule.latest_before(moment, **self.context)
        place = bisect_right(self.known, moment)
        if place > 0:
            expected = self.known[place - 1]
            self._count(answer == expected, "latest_before", moment, answer, expected)
        else:
            agrees = answer is None or (answer <= self.first and self._is_tick(answer))
            self._count(agrees, "latest_before", moment, answer, f"nothing after {self.first}")

    def _compare_count(self, after: datetime, through: datetime) -> None:
        answer = self.schedule.count_between(after, through, **self.context)
        expected = len(self.ticks_in(after, through))
        self._count(answer == expected, "count_between", (after, through), answer, expected)

    def _is_over(self) -> bool:
        return not self.ticks_in(self.last, self.last + CENTURIES)

    def _is_tick(self, answer: datetime) -> bool:
        return self.ticks_in(answer - MICROSECOND, answer) == [answer]

    def _count(self, agrees: bool, question: str, asked: object, answer: object, expected: object) -> None:
        self.made += 1
        assert agrees, f"{question} {asked}: the schedule says {answer}, scanning says {expected}"
