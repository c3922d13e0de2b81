"""The contract of a schedule, and what a third party gets for nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from datetime import datetime, tzinfo
from functools import partial
from typing import Any, ClassVar, Self

from django_gocron.schedules import codec
from django_gocron.schedules.search import count_by_walking, latest_by_halving
from django_gocron.schedules.terms import LATEST, Terms, aware, in_utc, naive_utc


class Schedule(ABC):
    """A pure value that answers "the next tick strictly after a moment".

    Subclasses are frozen dataclasses and register a kind: ``class Lunar(Schedule, kind="lunar")``; they have to define
    ``next_after`` and, if their fields are not JSON as they are, ``to_data`` and ``from_data``.

    Every question takes the same keywords:

    ``zone``    the time zone in which wall times are read
    ``anchor``  the instant from which "every n days" counts; no tick is at or before it
    ``gap``     a fixed time that a gap swallowed: ``run_after`` it, at once, or ``skip``
    ``fold``    a fixed time that a fold repeats: at the ``first`` pass, the ``second``, or ``both``
    ``seed``    what random draws depend on besides the previous tick

    Moments are aware, in any zone; answers are aware and UTC. ``ScheduleError``: ``naive_datetime`` for a moment or
    anchor without a zone; ``timezone_unknown``, ``gap_unknown``, ``fold_unknown`` for the others.
    """

    __slots__ = ()

    kind: ClassVar[str]
    version: ClassVar[int] = 1

    def __init_subclass__(cls, *, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.kind = kind
        if "kind" in cls.__dict__:
            codec.register(cls)

    @abstractmethod
    def next_after(
        self,
        moment: datetime,
        *,
        zone: tzinfo,
        anchor: datetime,
        gap: str = "run_after",
        fold: str = "first",
        seed: str = "",
    ) -> datetime | None:
        """The first tick strictly later than ``moment``, or None when it will never fire again."""

    def latest_before(
        self,
        moment: datetime,
        *,
        zone: tzinfo,
        anchor: datetime,
        gap: str = "run_after",
        fold: str = "first",
        seed: str = "",
    ) -> datetime | None:
        """The last tick at or before ``moment``, or None.

        Here it is found by halving the time since the anchor: some 60 questions to ``next_after``, which has to answer
        from the moment alone.
        """
        following = partial(self.next_after, zone=zone, anchor=anchor, gap=gap, fold=fold, seed=seed)
        return latest_by_halving(following, in_utc(moment, "moment"), floor=in_utc(anchor, "anchor"))

    def count_between(
        self,
        after: datetime,
        through: datetime,
        *,
        zone: tzinfo,
        anchor: datetime,
        gap: str = "run_after",
        fold: str = "first",
        seed: str = "",
    ) -> int:
        """How many ticks lie in ``(after, through]``.

        Here they are walked; beyond 10,000 ticks the rest is estimated from their mean distance.
        """
        following = partial(self.next_after, zone=zone, anchor=anchor, gap=gap, fold=fold, seed=seed)
        return count_by_walking(following, in_utc(after, "after"), in_utc(through, "through"))

    def preview(
        self,
        n: int,
        *,
        after: datetime,
        zone: tzinfo,
        anchor: datetime,
        gap: str = "run_after",
        fold: str = "first",
        seed: str = "",
    ) -> list[datetime]:
        """The next ticks strictly later than ``after``, at most ``n``."""
        following = partial(self.next_after, zone=zone, anchor=anchor, gap=gap, fold=fold, seed=seed)
        ticks: list[datetime] = []
        while len(ticks) < n and (tick := following(ticks[-1] if ticks else after)):
            ticks.append(tick)
        return ticks

    def describe(self) -> str:
        """One sentence, in the active language."""
        return self.kind

    def to_dict(self) -> dict[str, Any]:
        """JSON data from which ``from_dict`` makes an equal schedule."""
        return {"kind": self.kind, "version": self.version, **self.to_data()}

    @staticmethod
    def from_dict(data: object) -> Schedule:
        """The schedule that ``to_dict`` wrote.

        ``ScheduleError``: ``unknown_kind``, ``unknown_version``, ``unreadable``, or the kind's own validation.
        """
        return codec.read(data)

    def to_data(self) -> dict[str, Any]:
        """The fields as JSON data, without kind and version."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_data(cls, **data: Any) -> Self:
        """The schedule with these fields, as ``to_data`` wrote them."""
        return cls(**data)

    def _assign(self, **values: Any) -> None:
        """Set the fields of a frozen instance that is being built."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


class TermedSchedule(Schedule):
    """A schedule that answers in naive UTC, with all inputs checked: the kinds of this package derive from it."""

    __slots__ = ()

    def next_after(
        self,
        moment: datetime,
        *,
        zone: tzinfo,
        anchor: datetime,
        gap: str = "run_after",
        fold: str = "first",
        seed: str = "",
    ) -> datetime | None:
        terms = Terms(zone, naive_utc(anchor, "anchor"), gap, fold, seed)
        after = max(naive_utc(moment, "moment"), terms.anchor)
        return aware(self._next(after, terms)) if after < LATEST else None

    def latest_before(
        self,
        moment: datetime,
        *,
        zone: tzinfo,
        anchor: datetime,
        gap: str = "run_after",
        fold: str = "first",
        seed: str = "",
    ) -> datetime | None:
        terms = Terms(zone, naive_utc(anchor, "anchor"), gap, fold, seed)
        until = naive_utc(moment, "moment")
        return aware(self._latest(until, terms)) if until > terms.anchor else None

    def count_between(
        self,
        after: datetime,
        through: datetime,
        *,
        zone: tzinfo,
        anchor: datetime,
        gap: str = "run_after",
        fold: str = "first",
        seed: str = "",
    ) -> int:
        """How many ticks lie in ``(after, through]``: exact, and milliseconds whatever the span."""
        terms = Terms(zone, naive_utc(anchor, "anchor"), gap, fold, seed)
        first, last = max(naive_utc(after, "after"), terms.anchor), naive_utc(through, "through")
        return self._count(first, last, terms) if first < last else 0

    @abstractmethod
    def _next(self, moment: datetime, terms: Terms) -> datetime | None:
        """The first tick strictly later than ``moment``, which is not before the anchor."""

    @abstractmethod
    def _latest(self, moment: datetime, terms: Terms) -> datetime | None:
        """The last tick at or before ``moment`` and later than the anchor, which is before ``moment``."""

    @abstractmethod
    def _count(self, after: datetime, through: datetime, terms: Terms) -> int:
        """How many ticks lie in ``(after, through]``, which is not empty and does not reach before the anchor."""
