"""What cron expressions mean, read item by item for each date, from the rules alone."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache

from tests.properties.oracle import WEEKDAYS, Rule, dates, same_weekday_in_month, weekday

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def cron(expression: str) -> Rule:
    """The rule of a valid expression without a zone prefix."""
    fields = ALIASES.get(expression.lower(), expression).lower().split()
    second, minute, hour, day_of_month, month, day_of_week = fields if len(fields) == 6 else ["0", *fields]
    seconds = sorted(_numbers(second, 0, 59))
    months = _numbers(month, 1, 12, names={name: number for number, name in enumerate(MONTHS, 1)})
    either = not {day_of_month, day_of_week} & {"*", "?"}

    def on_date(day: date) -> bool:
        if day.month not in months:
            return False
        judgements = _is_day_of_month(day_of_month, day), _is_day_of_week(day_of_week, day)
        return any(judgements) if either else all(judgements)

    return Rule(
        on_date=lru_cache(maxsize=None)(on_date),
        seconds_of={h * 60 + m: seconds for h in _numbers(hour, 0, 23) for m in _numbers(minute, 0, 59)},
        wildcard=minute.startswith("*") or hour.startswith("*"),
    )


def ever_fires(rule: Rule) -> bool:
    """Whether any date matches. The fourteen kinds of year there are all occur in 28 years."""
    return any(rule.on_date(day) for day in dates(date(2000, 1, 1), date(2027, 12, 31)))


def _numbers(text: str, low: int, high: int, *, names: dict[str, int] | None = None) -> set[int]:
    """The numbers that a field without special items names. A range may wrap, from ``high`` on to ``low``."""
    found: set[int] = set()
    for item in text.split(","):
        values, _, step = item.partition("/")
        first, _, last = values.partition("-")
        if values in ("*", "?"):
            wanted = list(range(low, high + 1))
        elif last:
            wanted = _walk(_number(first, names), _number(last, names), low, high)
        elif step:
            wanted = list(range(_number(first, names), high + 1))
        else:
            wanted = [_number(first, names)]
        found.update(wanted[:: int(step or 1)])
    return found


def _walk(first: int, last: int, low: int, high: int) -> list[int]:
    walked = [first]
    while walked[-1] != last:
        walked.append(low if walked[-1] == high else walked[-1] + 1)
    return walked


def _number(text: str, names: dict[str, int] | None) -> int:
    return names[text] if names and text in names else int(text)


def _is_day_of_month(text: str, day: date) -> bool:
    length = monthrange(day.year, day.month)[1]
    for item in text.split(","):
        if item == "l":
            wanted = {length}
        elif item.endswith("w"):
            wanted = {_nearest_working_day(day, min(int(item[:-1]), length))}
        else:
            wanted = _numbers(item, 1, 31)
        if day.day in wanted:
            return True
    return False


def _nearest_working_day(day: date, number: int) -> int:
    in_month = (day.replace(day=n + 1) for n in range(monthrange(day.year, day.month)[1]))
    working = [candidate.day for candidate in in_month if candidate.isoweekday() <= 5]
    return min(working, key=lambda candidate: abs(candidate - number))


def _is_day_of_week(text: str, day: date) -> bool:
    return any(_is_weekday_item(item, day) for item in text.split(","))


def _is_weekday_item(item: str, day: date) -> bool:
    same_weekday = same_weekday_in_month(day)
    if "#" in item:
        wanted, _, nth = item.partition("#")
        return weekday(day) in _weekday_numbers(wanted) and same_weekday.index(day) + 1 == int(nth)
    if item.startswith("l") or item.endswith("l"):
        return weekday(day) in _weekday_numbers(item.strip("l")) and same_weekday[-1] == day
    return weekday(day) in _weekday_numbers(item)


def _weekday_numbers(text: str) -> set[int]:
    """0 is Sunday, and so is 7; from 0 to 7 is the whole week."""
    whole_week = re.sub("^(0|sun)-7", "*", text)
    return _numbers(whole_week, 0, 6, names={"7": 0} | {name: number for number, name in enumerate(WEEKDAYS)})
