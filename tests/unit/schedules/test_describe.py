"""The sentence for a schedule."""

from __future__ import annotations

from datetime import timedelta
from gettext import NullTranslations

import pytest

from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly, text
from tests.unit.schedules.moments import utc

SENTENCES = [
    (Every(1), "Every second"),
    (Every(60), "Every minute"),
    (Every(hours=1), "Every hour"),
    (Every(days=1), "Every 24 hours"),
    (Every(days=7), "Every 7 days"),
    (Every(minutes=15), "Every 15 minutes"),
    (Every(5400), "Every 1 hour 30 minutes"),
    (Every(90061.5), "Every 1 day 1 hour 1 minute 1 second 500 milliseconds"),
    (Every(timedelta(microseconds=10001)), "Every 10 milliseconds 1 microsecond"),
    (EveryRandom(240, 360), "At random, 4 minutes to 6 minutes apart"),
    (EveryRandom(1, 3600), "At random, 1 second to 1 hour apart"),
    (Daily(at="09:00"), "At 09:00 every day"),
    (Daily(at=["17:30", "09:00"]), "At 09:00 and 17:30 every day"),
    (Daily(at=["06:00:30", "12:00", "18:00"]), "At 06:00:30, 12:00 and 18:00 every day"),
    (Daily(every=2, at="09:00"), "At 09:00 every 2 days"),
    (Weekly(on="mon", at="09:00"), "Every Monday at 09:00"),
    (Weekly(on=["thu", "mon"], at="09:00"), "Every Monday and Thursday at 09:00"),
    (Weekly(on=["mon", "tue", "wed", "thu", "fri"], at="07:30"), "Weekdays at 07:30"),
    (Weekly(on=["sat", "sun"], at="10:00"), "Weekends at 10:00"),
    (Weekly(on=["sun", "mon", "tue", "wed", "thu", "fri", "sat"], at="10:00"), "At 10:00 every day"),
    (Weekly(every=2, on=["mon", "thu"], at="09:00"), "Every 2 weeks on Monday and Thursday at 09:00"),
    (Monthly(on=-1, at="23:00"), "On the last day of the month at 23:00"),
    (Monthly(on=1, at="06:00"), "On day 1 of the month at 06:00"),
    (Monthly(on=[1, 15], at=["06:00", "18:00"]), "On days 1 and 15 of the month at 06:00 and 18:00"),
    (Monthly(on=[1, 2, 3, -2], at="06:00"), "On days 1 to 3 and day 2 from the end of the month at 06:00"),
    (Monthly(on="first mon", at="08:00"), "On the first Monday of the month at 08:00"),
    (
        Monthly(every=3, on=[15, -1, "last fri"], at="08:00"),
        "Every 3 months on day 15, the last day and the last Friday at 08:00",
    ),
    (OneTime(utc("2026-12-24 18:00")), "Once, at 2026-12-24 18:00 UTC"),
    (
        OneTime([utc("2026-12-24 18:00:05"), utc("2027-01-01 00:00"), utc("2026-12-31 00:00")]),
        "3 times, from 2026-12-24 18:00:05 UTC to 2027-01-01 00:00 UTC",
    ),
    (Cron("* * * * * *"), "Every second"),
    (Cron("*/10 * * * * *"), "Every 10 seconds"),
    (Cron("30 * * * * *"), "Every minute at second 30"),
    (Cron("* * * * *"), "Every minute"),
    (Cron("*/15 * * * *"), "Every 15 minutes"),
    (Cron("0,30 * * * *"), "Every 30 minutes"),
    (Cron("@hourly"), "Every hour"),
    (Cron("7 * * * *"), "Every hour at minute 7"),
    (Cron("5,35 * * * *"), "Every hour at minutes 5 and 35"),
    (Cron("10-20 * * * *"), "Every hour at minutes 10 to 20"),
    (Cron("0 */2 * * *"), "Every 2 hours"),
    (Cron("30 */6 * * *"), "Every 6 hours at minute 30"),
    (Cron("0 */12 * * *"), "At 00:00 and 12:00 every day"),
    (Cron("0 9-17 * * *"), "Every hour from 09:00 to 17:00"),
    (Cron("45 9-17 * * mon-fri"), "Every hour from 09:45 to 17:45, on weekdays"),
    (Cron("*/10 9-17 * * 1-5"), "Every 10 minutes from 09:00 to 17:50, on weekdays"),
    (Cron("* 3 * * *"), "Every minute from 03:00 to 03:59"),
    (Cron("*/5 8,12,18 * * *"), "Every 5 minutes of hours 8, 12 and 18"),
    (Cron("5,35 9-17 * * *"), "At minutes 5 and 35 of hours 9 to 17"),
    (Cron("30 2 * * *"), "At 02:30 every day"),
    (Cron("15 30 2 * * *"), "At 02:30:15 every day"),
    (Cron("0 6,11,18,22 * * *"), "At 06:00, 11:00, 18:00 and 22:00 every day"),
    (Cron("30 7 * * mon-fri"), "Weekdays at 07:30"),
    (Cron("0 10 * * sat,sun"), "Weekends at 10:00"),
    (Cron("0 9 * * mon,thu"), "Every Monday and Thursday at 09:00"),
    (Cron("0 9 * jan,jul mon"), "Every Monday in January and July at 09:00"),
    (Cron("0 9 * 6 mon-fri"), "Weekdays in June at 09:00"),
    (Cron("0 9 * 6 sat,sun"), "Weekends in June at 09:00"),
    (Cron("0 9 * 6-8 *"), "At 09:00 every day in June, July and August"),
    (Cron("0 23 L * *"), "On the last day of the month at 23:00"),
    (Cron("@yearly"), "On day 1 of January at 00:00"),
    (Cron("0 0 1-7,15 * *"), "On days 1 to 7 and 15 of the month at 00:00"),
    (Cron("0 9 15W * *"), "On the weekday nearest day 15 of the month at 09:00"),
    (Cron("0 8 * * mon#1"), "On the first Monday of the month at 08:00"),
    (Cron("0 8 * * 5L,2#3"), "On the last Friday and the third Tuesday of the month at 08:00"),
    (Cron("0 8 * 11 mon,4#4"), "On every Monday and the fourth Thursday of November at 08:00"),
    (Cron("0 0 13 * 5"), "On day 13 or every Friday of the month at 00:00"),
    (Cron("0 0 L * L1"), "On the last day or the last Monday of the month at 00:00"),
    (Cron("*/20 * * * sun"), "Every 20 minutes, on Sunday"),
    (Cron("*/20 * * * sat,sun"), "Every 20 minutes, on weekends"),
    (Cron("*/20 * * 3 *"), "Every 20 minutes, in March"),
    (Cron("*/20 * * 3 sun"), "Every 20 minutes, on Sunday in March"),
    (Cron("*/20 * * 3 1-5"), "Every 20 minutes, on weekdays in March"),
    (Cron("*/20 * * 3 0,6"), "Every 20 minutes, on weekends in March"),
    (Cron("*/20 * 5 * *"), "Every 20 minutes, on day 5 of the month"),
    (Cron("*/20 * 5 3 *"), "Every 20 minutes, on day 5 of March"),
    (Cron("0 9 * * *", timezone="Europe/Berlin"), "At 09:00 every day, Europe/Berlin time"),
    (Cron("TZ=Asia/Kolkata @hourly"), "Every hour, Asia/Kolkata time"),
    (Cron("0 0 */2 * *"), "0 0 */2 * *"),
    (Cron("*/7 * * * *"), "*/7 * * * *"),
    (Cron("0 0 1 1-7 *"), "0 0 1 1-7 *"),
    (Cron("*/5 */2 * * *"), "*/5 */2 * * *"),
    (Cron("1,2 * * * * *"), "1,2 * * * * *"),
    (Cron("10 */5 * * * *"), "10 */5 * * * *"),
    (Cron("TZ=UTC 1,2 * * * * *"), "TZ=UTC 1,2 * * * * *"),
]


@pytest.mark.parametrize(("schedule", "sentence"), SENTENCES, ids=lambda value: str(value))
def test_a_schedule_is_described_by_one_sentence(schedule: Schedule, sentence: str) -> None:
    assert schedule.describe() == sentence


class Shouting(NullTranslations):
    def gettext(self, message: str) -> str:
        return message.upper().replace("(TIMES)S", "(times)s").replace("(DAYS)S", "(days)s")

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        return f"{number} OF %(days)s" if "(days)" in singular else singular


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_installed", [NullTranslations()])
    text.install(Shouting())


@pytest.mark.usefixtures("shouting")
def test_sentences_are_translated_when_they_are_asked_for() -> None:
    schedule = Cron("0 9 * * mon")
    assert schedule.describe() == "EVERY MONDAY AT 09:00"
    assert Monthly(on=5, at="09:00").describe() == "ON 1 OF 5 OF THE MONTH AT 09:00"
    text.install(NullTranslations())
    assert schedule.describe() == "Every Monday at 09:00"


@pytest.mark.usefixtures("shouting")
def test_refusals_are_translated() -> None:
    with pytest.raises(ValueError, match=r"^CHOOSE AT LEAST ONE DAY\.$"):
        Monthly(on=[], at="09:00")
