from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from django_gocron import events, logs
from django_gocron.logs import QUIET, JsonFormatter, Log, TextFormatter, configure, describe
from tests.unit.test_events import KINDS

AT = datetime(2026, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC)
INSTANCE = UUID("12345678-1234-5678-1234-567812345678")
RUN: dict[str, Any] = {
    "at": AT,
    "run_id": 1841,
    "job_id": 7,
    "job_name": "Sync",
    "task": "shop.sync",
    "scheduled_for": AT,
}
JOB: dict[str, Any] = {"at": AT, "job_id": 7, "job_name": "Sync"}
SPAN: dict[str, Any] = {"count": 3, "first": AT, "last": AT + timedelta(minutes=2)}
SECOND = timedelta(seconds=1)

LINES: list[tuple[events.Event, str, str]] = [
    (
        events.SchedulerStarted(at=AT, instance=INSTANCE, name="web-1"),
        "INFO",
        'scheduler started instance="web-1"',
    ),
    (
        events.SchedulerStopping(at=AT, name="web-1", active=2, timeout=30 * SECOND),
        "INFO",
        'scheduler stopping instance="web-1" active=2 waiting_up_to=30.000s',
    ),
    (events.SchedulerStopped(at=AT, name="web-1", abandoned=0), "INFO", 'scheduler stopped instance="web-1"'),
    (
        events.SchedulerStopped(at=AT, name="web-1", abandoned=2),
        "WARNING",
        'scheduler stopped instance="web-1" abandoned=2',
    ),
    (events.SchedulerShutdown(at=AT, name="web-1"), "DEBUG", 'scheduler shut down instance="web-1"'),
    (
        events.RunStarted(**RUN, lag=timedelta(milliseconds=12)),
        "INFO",
        'run started    job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z lag=0.012s',
    ),
    (
        events.RunExecuting(**RUN),
        "DEBUG",
        'run executing  job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z',
    ),
    (
        events.ListenerFailed(
            **RUN,
            kind="before_run",
            listener="shop.note",
            error="ValueError: no",
            traceback="Traceback:\n  no\n",
        ),
        "ERROR",
        'listener failed job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z kind="before_run" listener="shop.note"'
        ' error="ValueError: no"\nTraceback:\n  no',
    ),
    (
        events.RunSucceeded(**RUN, took=4.5 * SECOND),
        "INFO",
        'run succeeded  job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z took=4.500s',
    ),
    (
        events.RunTimedOut(
            **RUN, took=5 * SECOND, timeout=5 * SECOND, still_executes=False, traceback="", failures_in_row=1
        ),
        "ERROR",
        'run timed out  job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z took=5.000s timeout=5.000s in_a_row=1',
    ),
    (
        events.RunTimedOut(
            **RUN, took=5 * SECOND, timeout=5 * SECOND, still_executes=True, traceback="", failures_in_row=2
        ),
        "ERROR",
        'run timed out  job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z took=5.000s timeout=5.000s in_a_row=2'
        ' still_executes="yes"',
    ),
    (
        events.RunCancelled(**RUN, reason="shutdown"),
        "INFO",
        'run cancelled  job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z reason="shutdown"',
    ),
    (
        events.RunFailed(
            **RUN,
            took=9.1 * SECOND,
            reason="exception",
            error_type="ConnectionError",
            error_message='timed "out"',
            traceback="Traceback:\n  boom\n",
            failures_in_row=3,
        ),
        "ERROR",
        'run failed     job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z took=9.100s'
        ' error="ConnectionError: timed \\"out\\"" in_a_row=3\nTraceback:\n  boom',
    ),
    (
        events.RunFailed(
            **RUN,
            took=SECOND,
            reason="exit",
            error_type="SystemExit",
            error_message="",
            traceback="",
            failures_in_row=1,
        ),
        "ERROR",
        'run failed     job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z took=1.000s error="SystemExit" in_a_row=1',
    ),
    (
        events.RunSkipped(**RUN, reason="overlap"),
        "WARNING",
        'run skipped    job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z reason="overlap"',
    ),
    (
        events.RunSkipped(**RUN, reason="paused"),
        "INFO",
        'run skipped    job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z reason="paused"',
    ),
    (
        events.RunLost(**RUN, reason="instance_gone"),
        "ERROR",
        'run lost       job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z reason="instance_gone"',
    ),
    (
        events.ResultRefused(**RUN, status="succeeded"),
        "WARNING",
        'result refused job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z status="succeeded"',
    ),
    (events.JobRegistered(**JOB), "DEBUG", 'job registered job="Sync"'),
    (events.JobUnregistered(**JOB), "DEBUG", 'job unregistered job="Sync"'),
    (
        events.TicksMissed(**JOB, **SPAN, reason="grace"),
        "WARNING",
        'run missed     job="Sync" reason="grace" count=3 first=2026-05-01T12:00:00Z last=2026-05-01T12:02:00Z',
    ),
    (
        events.TicksCoalesced(**JOB, **SPAN),
        "WARNING",
        'runs coalesced job="Sync" count=3 first=2026-05-01T12:00:00Z last=2026-05-01T12:02:00Z',
    ),
    (
        events.JobBroken(**JOB, code="timezone_unknown", text="No zone 'Mars/X'."),
        "ERROR",
        'job broken     job="Sync" code="timezone_unknown" reason="No zone \'Mars/X\'."',
    ),
    (
        events.JobQuarantined(**JOB, crashes=3),
        "ERROR",
        'job quarantined job="Sync" crashes=3',
    ),
    (
        events.RetryQueued(**RUN, attempt=2, due_at=AT),
        "INFO",
        'retry queued   job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z attempt=2 due=2026-05-01T12:00:00Z',
    ),
    (events.RunQueued(**RUN), "INFO", 'run queued     job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z'),
    (
        events.EngineStalled(at=AT, threads=("loop", "timer"), is_hopeless=True),
        "CRITICAL",
        'engine stalled threads="loop, timer" hopeless=True',
    ),
    (
        events.LeadershipGained(at=AT, instance=INSTANCE, name="web-1", term=7),
        "INFO",
        'leader         instance="web-1" term=7',
    ),
    (
        events.LeadershipLost(at=AT, instance=INSTANCE, name="web-1", term=7, reason="expired"),
        "WARNING",
        'leader no more instance="web-1" term=7 reason="expired"',
    ),
    (
        events.LockNotAcquired(
            **RUN,
            reason="lock_busy",
            locker="redis",
            key="Sync",
            holder="web-2, run 9",
            error="",
            runs_anyway=False,
        ),
        "WARNING",
        'no lock        job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z locker="redis" key="Sync"'
        ' reason="lock_busy" holder="web-2, run 9"',
    ),
    (
        events.LockLost(**RUN, locker="redis", key="Sync"),
        "ERROR",
        'lock lost      job="Sync" run=1841 scheduled=2026-05-01T12:00:00Z locker="redis" key="Sync"',
    ),
    (events.JobFinished(**JOB), "INFO", 'job finished   job="Sync"'),
    (
        events.LeaseLost(at=AT, instance=INSTANCE, running=2),
        "ERROR",
        f'lease lost     instance="{INSTANCE}" running=2',
    ),
    (
        events.InstanceReaped(at=AT, instance=INSTANCE, name="web-2", requeued=3, lost=1),
        "WARNING",
        'instance reaped instance="web-2" requeued=3 lost=1',
    ),
    (
        events.DatabaseLost(at=AT, where="loop", error="gone away"),
        "ERROR",
        'database lost  noticed_by="loop" error="gone away"',
    ),
    (
        events.DatabaseRecovered(at=AT, where="loop", after=61 * SECOND),
        "WARNING",
        "database back  after=61.000s",
    ),
    (events.ClockJumped(at=AT, by=-2 * SECOND), "WARNING", "clock jumped   by=-2.000s"),
]
BY_KIND = [pytest.param(*line, id=type(line[0]).__name__) for line in LINES]


def skipped(*, minutes: float = 0, job_id: int = 7, reason: str = "overlap") -> events.RunSkipped:
    return events.RunSkipped(
        **{**RUN, "at": AT + timedelta(minutes=minutes), "job_id": job_id}, reason=reason
    )


def say(log: Log, caplog: pytest.LogCaptureFixture, *happened: events.Event) -> list[str]:
    """The lines that the log writes of these events."""
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="django_gocron"):
        for event in happened:
            log(event)
    return [record.getMessage() for record in caplog.records]


# Wording


@pytest.mark.parametrize(("event", "level", "line"), BY_KIND)
def test_an_event_is_one_line(event: events.Event, level: str, line: str, caplog: pytest.LogCaptureFixture):
    assert say(Log(), caplog, event) == [line]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("django_gocron", level)


def test_every_event_has_its_wording():
    assert {type(event) for event, _level, _line in LINES} == set(KINDS)


def test_the_fields_are_on_the_record_for_formatters_of_ones_own(caplog: pytest.LogCaptureFixture):
    say(Log(), caplog, events.RunSucceeded(**RUN, took=SECOND))
    assert caplog.records[0].gocron == {  # type: ignore[attr-defined]
        "event": "run succeeded",
        "job": "Sync",
        "run": 1841,
        "scheduled": AT,
        "took": SECOND,
    }


@pytest.mark.parametrize("name", ["two\nlines", 'a "quote"', "100%s", "back\\slash"])
def test_a_name_cannot_break_its_line(name: str, caplog: pytest.LogCaptureFixture):
    (line,) = say(Log(), caplog, events.JobFinished(**{**JOB, "job_name": name}))
    assert line == f"job finished   job={json.dumps(name)}"


def test_a_name_is_written_in_its_own_letters(caplog: pytest.LogCaptureFixture):
    (line,) = say(Log(), caplog, events.JobFinished(**{**JOB, "job_name": "Übersicht"}))
    assert 'job="Übersicht"' in line


def test_an_instant_is_written_in_utc(caplog: pytest.LogCaptureFixture):
    tokyo = AT.astimezone(datetime.strptime("+0900", "%z").tzinfo)
    (line,) = say(Log(), caplog, events.RunSucceeded(**{**RUN, "scheduled_for": tokyo}, took=SECOND))
    assert "scheduled=2026-05-01T12:00:00Z" in line


def test_an_event_of_somebody_else_is_named():
    class DoorOpened(events.Event):
        __slots__ = ()

    class RunApplauded(events.RunEvent):
        __slots__ = ()

    class JobPraised(events.JobEvent):
        __slots__ = ()

    assert describe(DoorOpened(at=AT)) == (logging.INFO, "DoorOpened", {})
    assert describe(RunApplauded(**RUN))[1:] == (
        "RunApplauded",
        {"job": "Sync", "run": 1841, "scheduled": AT},
    )
    assert describe(JobPraised(**JOB))[1:] == ("JobPraised", {"job": "Sync"})


def test_nothing_is_said_below_the_level_of_the_logger(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR, logger="django_gocron"):
        Log()(events.JobFinished(**JOB))
    assert caplog.records == []


# Skips, again and again


def test_b52_skips_for_one_reason_are_said_once_an_hour(caplog: pytest.LogCaptureFixture):
    assert len(say(Log(), caplog, *(skipped(minutes=n * 0.05) for n in range(1000)))) == 1


def test_after_an_hour_it_is_said_how_many_were_not(caplog: pytest.LogCaptureFixture):
    log = Log()
    say(log, caplog, *(skipped(minutes=n) for n in range(60)))
    (line,) = say(log, caplog, skipped(minutes=60))
    assert line.endswith('reason="overlap" unsaid=59')
    (line,) = say(log, caplog, skipped(minutes=120))
    assert "unsaid" not in line


def test_a_skip_just_within_the_hour_is_not_said(caplog: pytest.LogCaptureFixture):
    log = Log()
    say(log, caplog, skipped())
    just_before = QUIET / timedelta(minutes=1) - 0.001
    assert say(log, caplog, skipped(minutes=just_before)) == []


def test_skips_of_another_job_or_for_another_reason_are_news(caplog: pytest.LogCaptureFixture):
    assert len(say(Log(), caplog, skipped(), skipped(job_id=8), skipped(reason="limit"))) == 3


def test_everything_else_is_said_every_time(caplog: pytest.LogCaptureFixture):
    event = events.RunSucceeded(**RUN, took=SECOND)
    assert len(say(Log(), caplog, event, event, event)) == 3


# The two formats


def record(level: int = logging.INFO, message: str = "hello", **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("django_gocron", level, __file__, 1, message, None, None)
    made.created, made.msecs = AT.timestamp(), 250.0
    if fields:
        made.gocron = fields
    return made


@pytest.mark.parametrize(
    ("level", "shown"),
    [(logging.INFO, "INFO  hello"), (logging.WARNING, "WARN  hello"), (logging.ERROR, "ERROR hello")],
)
def test_a_line_of_text_begins_with_the_time_and_the_level(level: int, shown: str):
    clock = datetime.fromtimestamp(AT.timestamp()).strftime("%H:%M:%S")  # noqa: DTZ006 - the process's local time
    assert TextFormatter().format(record(level)) == f"{clock}.250 {shown}"


def test_a_line_of_json_has_the_fields_of_its_event():
    made = record(event="run succeeded", job="Sync", scheduled=AT, took=1.5 * SECOND)
    assert json.loads(JsonFormatter().format(made)) == {
        "time": "2026-05-01T12:00:00.250+00:00",
        "level": "INFO",
        "logger": "django_gocron",
        "event": "run succeeded",
        "job": "Sync",
        "scheduled": "2026-05-01T12:00:00.250000+00:00",
        "took": 1.5,
    }


def test_a_line_of_json_has_the_message_of_what_is_no_event():
    assert json.loads(JsonFormatter().format(record(message='50 % of "it"\n')))["message"] == '50 % of "it"\n'


def test_a_line_of_json_is_one_line_whatever_it_says():
    made = record(message="two\nlines")
    try:
        raise ValueError("boom")
    except ValueError as error:
        made.exc_info = (type(error), error, error.__traceback__)
    line = JsonFormatter().format(made)
    assert "\n" not in line
    assert json.loads(line)["traceback"].endswith("ValueError: boom")


def test_a_line_of_json_can_hold_what_json_cannot():
    assert json.loads(JsonFormatter().format(record(event="x", instance=INSTANCE)))["instance"] == str(
        INSTANCE
    )


# Where the project has configured nothing


@contextmanager
def unconfigured() -> Iterator[logging.Logger]:
    """The root logger as it is in a process that has configured nothing (pytest's own handlers stand aside)."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    root.setLevel(logging.WARNING)
    try:
        yield root
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def written(stream: io.StringIO) -> str:
    logs.logger.info("hello")
    logs.logger.debug("whispered")
    return stream.getvalue()


def test_logs_appear_without_configuration():
    stream = io.StringIO()
    with unconfigured() as root:
        configure(stream)
        assert written(stream).endswith("INFO  hello\n")
        assert root.level == logging.INFO


def test_a_project_that_logs_is_left_alone():
    theirs, ours = io.StringIO(), io.StringIO()
    with unconfigured() as root:
        root.addHandler(logging.StreamHandler(theirs))
        root.setLevel(logging.INFO)
        configure(ours)
        assert (written(ours), theirs.getvalue()) == ("", "hello\n")


def test_json_is_written_whatever_the_project_logs():
    stream = io.StringIO()
    with unconfigured() as root:
        root.addHandler(logging.NullHandler())
        configure(stream, style="json")
        assert json.loads(written(stream))["message"] == "hello"


def test_a_more_talkative_level_is_kept():
    with unconfigured() as root:
        root.setLevel(logging.DEBUG)
        configure(io.StringIO())
        assert root.level == logging.DEBUG
