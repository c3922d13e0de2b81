"""Reads the English sentences for cron schedules back, by its own grammar."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
NTH = ["first", "second", "third", "fourth", "fifth"]

CLOCK = r"\d\d:\d\d(?::\d\d)?"
TIMES = rf"(?P<times>{CLOCK}(?:(?:, | and ){CLOCK})*)"
NAMES = "|".join(WEEKDAYS)
NAMED = rf"(?P<named>(?:{NAMES})(?:(?:, | and )(?:{NAMES}))*)"
IN_MONTHS = r"(?: in (?P<months>.+?))?"
OF_MONTHS = r"of (?:the month|(?P<months>.+?))"

Picks = Callable[[int, int, int], bool]
"""Whether a day is meant, of a month of some length that begins on some weekday."""


class NotUnderstoodError(Exception):
    """The sentence is not of this grammar."""


@dataclass(kw_only=True)
class Meaning:
    """The times of the day, the months, and the days of a month."""

    times: set[tuple[int, int, int]] = field(default_factory=set)
    months: set[int] = field(default_factory=lambda: set(range(1, 13)))
    picks: Picks = lambda day, length, first: True

    def days(self, length: int, first: int) -> list[int]:
        return [day for day in range(1, length + 1) if self.picks(day, length, first)]


def read(sentence: str) -> Meaning:
    """What the sentence means. Raises ``NotUnderstoodError``."""
    for pattern in (
        rf"At {TIMES} every day{IN_MONTHS}",
        rf"(?P<week>Weekdays|Weekends){IN_MONTHS} at {TIMES}",
        rf"Every {NAMED}{IN_MONTHS} at {TIMES}",
        rf"On (?P<picked>.+?) {OF_MONTHS} at {TIMES}",
        rf"(?P<often>.+?), on (?P<week>weekdays|weekends){IN_MONTHS}",
        rf"(?P<often>.+?), on {NAMED}{IN_MONTHS}",
        rf"(?P<often>.+?), on (?P<picked>.+?) {OF_MONTHS}",
        r"(?P<often>.+?), in (?P<months>.+)",
        r"(?P<often>.+)",
    ):
        found = re.fullmatch(pattern, sentence)
        if found:
            return meaning(found.groupdict())
    raise NotUnderstoodError(sentence)


def meaning(parts: dict[str, str | None]) -> Meaning:
    meant = Meaning()
    often, times = parts.get("often"), parts.get("times")
    if times:
        meant.times = {clock(each) for each in listed(times)}
    if often:
        meant.times = frequency(often)
    if parts.get("months"):
        meant.months = {MONTHS.index(name) + 1 for name in listed(parts["months"] or "")}
    if parts.get("week"):
        free = (parts["week"] or "").lower() == "weekends"
        meant.picks = lambda day, _length, first: (weekday(day, first) in (0, 6)) is free
    if parts.get("named"):
        named = {WEEKDAYS.index(name) for name in listed(parts["named"] or "")}
        meant.picks = lambda day, _length, first: weekday(day, first) in named
    if parts.get("picked"):
        meant.picks = picked(parts["picked"] or "")
    return meant


def listed(text: str) -> list[str]:
    return re.split(r", | and ", text)


def clock(text: str) -> tuple[int, int, int]:
    hour, minute, second = (int(part) for part in f"{text}:00".split(":")[:3])
    return hour, minute, second


def numbers(text: str) -> list[int]:
    found: list[int] = []
    for each in listed(text):
        first, _to, last = each.partition(" to ")
        found += range(int(first), int(last or first) + 1)
    return found


def frequency(text: str) -> set[tuple[int, int, int]]:
    """Every combination of the hours, minutes and seconds that a frequency names."""
    hours, minutes, seconds = list(range(24)), list(range(60)), [0]
    if found := re.fullmatch(r"Every (?:second|(\d+) seconds)", text):
        seconds = list(range(0, 60, int(found[1] or 1)))
    elif found := re.fullmatch(r"Every minute at second (\d+)", text):
        seconds = [int(found[1])]
    elif found := re.fullmatch(r"At minutes? (.+) of hours? (.+)", text):
        minutes, hours = numbers(found[1]), numbers(found[2])
    elif found := re.fullmatch(r"Every (?:hour|(\d+) hours)(?: at minutes? (.+))?", text):
        hours, minutes = list(range(0, 24, int(found[1] or 1))), numbers(found[2] or "0")
    elif found := re.fullmatch(rf"Every hour from ({CLOCK}) to ({CLOCK})", text):
        (first, minute, _), (last, same, _) = clock(found[1]), clock(found[2])
        if minute != same:
            raise NotUnderstoodError(text)
        hours, minutes = list(range(first, last + 1)), [minute]
    elif found := re.fullmatch(r"Every (?:minute|(\d+) minutes)( (?:from|of) .+)?", text):
        minutes = list(range(0, 60, int(found[1] or 1)))
        hours = during((found[2] or "").strip(), minutes)
    else:
        raise NotUnderstoodError(text)
    return set(product(hours, minutes, seconds))


def during(text: str, minutes: list[int]) -> list[int]:
    if not text:
        return list(range(24))
    if found := re.fullmatch(r"of hours? (.+)", text):
        return numbers(found[1])
    found = re.fullmatch(rf"from ({CLOCK}) to ({CLOCK})", text)
    if not found or clock(found[1])[1] != 0 or clock(found[2])[1] != minutes[-1]:
        raise NotUnderstoodError(text)
    return list(range(clock(found[1])[0], clock(found[2])[0] + 1))


def picked(text: str) -> Picks:
    """Days one by one: "day 13 or every Friday"."""
    tests = [day_test(token) for token in tokens(text)]
    return lambda day, length, first: any(test(day, length, first) for test in tests)


def tokens(text: str) -> list[str]:
    """The days named; numbers after the first belong to the "days" before them."""
    found: list[str] = []
    for token in re.split(r", | and | or ", text):
        found.append(f"days {token}" if token[0].isdigit() else token)
    return found


def day_test(token: str) -> Picks:
    if found := re.fullmatch(r"days? (.+)", token):
        dates = numbers(found[1])
        return lambda day, _length, _first: day in dates
    if token == "the last day":
        return lambda day, length, _first: day == length
    if found := re.fullmatch(r"the weekday nearest day (\d+)", token):
        wanted = int(found[1])
        return lambda day, length, first: day == nearest(wanted, length, first)
    if found := re.fullmatch(rf"(?:every|the ({'|'.join(NTH)}|last)) ({NAMES})", token):
        which, number = found[1], WEEKDAYS.index(found[2])
        return lambda day, length, first: weekday(day, first) == number and is_nth(which, day, length)
    raise NotUnderstoodError(token)


def is_nth(which: str | None, day: int, length: int) -> bool:
    if which is None:
        return True
    return day > length - 7 if which == "last" else (day - 1) // 7 == NTH.index(which)


def weekday(day: int, first: int) -> int:
    return (first + day - 1) % 7


def nearest(day: int, length: int, first: int) -> int:
    """The working day with the least distance, inside the month."""
    working = [each for each in range(1, length + 1) if weekday(each, first) in range(1, 6)]
    return min(working, key=lambda each: abs(each - min(day, length)))
