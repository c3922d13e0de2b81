"""The log: the wording of every event, in one file, and the two formats of a line.

Logger ``django_gocron``. A line is a few words and ``key=value`` pairs; the pairs are also on the record, as
``record.gocron``, for formatters of your own.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TextIO

from django_gocron import events

if TYPE_CHECKING:
    from collections.abc import Hashable

logger = logging.getLogger("django_gocron")

Fields = dict[str, Any]
Line = tuple[int, str, Fields]

LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
"""Shorter words for a column of five."""

QUIET = timedelta(hours=1)
"""A job that keeps being skipped for one reason, or queued, is said once in so long, with how many there were."""


class Log:
    """The receiver of events that logs, to the logger it is given."""

    def __init__(self, logger: logging.Logger = logger) -> None:
        self._logger = logger
        self._said_at: dict[Hashable, datetime] = {}
        self._unsaid: Counter[Hashable] = Counter()

    def __call__(self, event: events.Event) -> None:
        level, words, fields = describe(event)
        if not self._logger.isEnabledFor(level) or not self._is_news(event, fields):
            return
        tail = " ".join(f"{key}={_show(value)}" for key, value in fields.items() if key != "traceback")
        text = f"{words:<14} {tail}".rstrip()
        if fields.get("traceback"):
            text += "\n" + fields["traceback"].rstrip()
        self._logger.log(level, "%s", text, extra={"gocron": {"event": words, **fields}})

    def _is_news(self, event: events.Event, fields: Fields) -> bool:
        if not isinstance(event, events.RunSkipped | events.RunQueued | events.LockNotAcquired):
            return True
        key = (type(event), event.job_id, getattr(event, "reason", None))
        said_at = self._said_at.get(key)
        if said_at is not None and event.at - said_at < QUIET:
            self._unsaid[key] += 1
            return False
        self._said_at[key] = event.at
        more = self._unsaid.pop(key, 0)
        if more:
            fields["unsaid"] = more
        return True


log = Log()
"""The one that every process has."""


def describe(event: events.Event) -> Line:
    """Level, words and fields of an event."""
    match event:
        case events.RunEvent():
            return _describe_run(event)
        case events.JobEvent():
            return _describe_job(event)
        case events.SchedulerStarted():
            return logging.INFO, "scheduler started", {"instance": event.name}
        case events.SchedulerStopping():
            fields = {"instance": event.name, "active": event.active, "waiting_up_to": event.timeout}
            return logging.INFO, "scheduler stopping", fields
        case events.SchedulerStopped(abandoned=0):
            return logging.INFO, "scheduler stopped", {"instance": event.name}
        case events.SchedulerStopped():
            fields = {"instance": event.name, "abandoned": event.abandoned}
            return logging.WARNING, "scheduler stopped", fields
        case events.SchedulerShutdown():
            return logging.DEBUG, "scheduler shut down", {"instance": event.name}
        case events.LeadershipGained():
            return logging.INFO, "leader", {"instance": event.name, "term": event.term}
        case events.LeadershipLost():
            fields = {"instance": event.name, "term": event.term, "reason": event.reason}
            level = logging.INFO if event.reason == "resigned" else logging.WARNING
            return level, "leader no more", fields
        case events.EngineStalled():
            fields = {"threads": ", ".join(event.threads), "hopeless": event.is_hopeless}
            return logging.CRITICAL, "engine stalled", fields
        case events.LeaseLost():
            return logging.ERROR, "lease lost", {"instance": str(event.instance), "running": event.running}
        case events.InstanceReaped():
            fields = {"instance": event.name, "requeued": event.requeued, "lost": event.lost}
            return logging.WARNING, "instance reaped", fields
        case events.DatabaseLost():
            return logging.ERROR, "database lost", {"noticed_by": event.where, "error": event.error}
        case events.DatabaseRecovered():
            return logging.WARNING, "database back", {"after": event.after}
        case events.ClockJumped():
            return logging.WARNING, "clock jumped", {"by": event.by}
        case _:
            return logging.INFO, type(event).__name__, {}


def _describe_run(event: events.RunEvent) -> Line:
    fields: Fields = {"job": event.job_name, "run": event.run_id, "scheduled": event.scheduled_for}
    match event:
        case events.RunStarted():
            return logging.INFO, "run started", {**fields, "lag": event.lag}
        case events.RunExecuting():
            return logging.DEBUG, "run executing", fields
        case events.ListenerFailed():
            heard = {"kind": event.kind, "listener": event.listener, "error": event.error}
            return logging.ERROR, "listener failed", {**fields, **heard, "traceback": event.traceback}
        case events.RunSucceeded():
            return logging.INFO, "run succeeded", {**fields, "took": event.took}
        case events.RunFailed():
            error = f"{event.error_type}: {event.error_message}".rstrip(": ")
            failed = {"took": event.took, "error": error, "in_a_row": event.failures_in_row}
            return logging.ERROR, "run failed", {**fields, **failed, "traceback": event.traceback}
        case events.RunTimedOut():
            ended = {"took": event.took, "timeout": event.timeout, "in_a_row": event.failures_in_row}
            if event.still_executes:
                ended["still_executes"] = "yes"
            return logging.ERROR, "run timed out", {**fields, **ended, "traceback": event.traceback}
        case events.RetryQueued():
            return logging.INFO, "retry queued", {**fields, "attempt": event.attempt, "due": event.due_at}
        case events.RunQueued():
            return logging.INFO, "run queued", fields
        case events.RunCancelled():
            level = logging.INFO if event.reason == "shutdown" else logging.WARNING
            return level, "run cancelled", {**fields, "reason": event.reason}
        case events.RunSkipped():
            level = logging.INFO if event.reason in ("paused", "by_user") else logging.WARNING
            return level, "run skipped", {**fields, "reason": event.reason}
        case events.LockNotAcquired():
            asked = {"locker": event.locker, "key": event.key, "reason": event.reason}
            answered = {"holder": event.holder, "error": event.error}
            told = {key: value for key, value in answered.items() if value}
            return logging.WARNING, "no lock", {**fields, **asked, **told}
        case events.LockLost():
            return logging.ERROR, "lock lost", {**fields, "locker": event.locker, "key": event.key}
        case events.RunLost():
            return logging.ERROR, "run lost", {**fields, "reason": event.reason}
        case events.ResultRefused():
            return logging.WARNING, "result refused", {**fields, "status": event.status}
        case _:
            return logging.INFO, type(event).__name__, fields


def _describe_job(event: events.JobEvent) -> Line:
    fields: Fields = {"job": event.job_name}
    match event:
        case events.JobRegistered():
            return logging.DEBUG, "job registered", fields
        case events.JobUnregistered():
            return logging.DEBUG, "job unregistered", fields
        case events.TicksMissed():
            span = {"count": event.count, "first": event.first, "last": event.last}
            return logging.WARNING, "run missed", {**fields, "reason": event.reason, **span}
        case events.TicksCoalesced():
            span = {"count": event.count, "first": event.first, "last": event.last}
            return logging.WARNING, "runs coalesced", {**fields, **span}
        case events.JobBroken():
            return logging.ERROR, "job broken", {**fields, "code": event.code, "reason": event.text}
        case events.JobQuarantined():
            return logging.ERROR, "job quarantined", {**fields, "crashes": event.crashes}
        case events.JobFinished():
            return logging.INFO, "job finished", fields
        case _:
            return logging.INFO, type(event).__name__, fields


def _show(value: Any) -> str:
    """A value in a line: instants in UTC, durations in seconds, texts in quotes when they hold blanks."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.3f}s"
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """``16:30:00.012 INFO  run started ...``, in the process's local time."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03d %(level)-5s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        record.level = LEVELS.get(record.levelname, record.levelname)
        return super().format(record)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``time`` (UTC), ``level``, ``logger``, ``message`` and the fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        data: Fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        fields = getattr(record, "gocron", None)
        data |= (
            {key: _plain(value) for key, value in fields.items()}
            if fields
            else {"message": record.getMessage()}
        )
        if record.exc_info:
            data["traceback"] = self.formatException(record.exc_info)
        return json.dumps(data, ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else value


def configure(stream: TextIO, *, style: str = "text") -> None:
    """Let logs appear where the project has configured none: on ``stream``, from INFO on.

    A project that has a handler for us, or on the root logger, is left alone, unless ``style`` is ``json``.
    """
    if style == "text" and logger.hasHandlers():
        return
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    if root.level > logging.INFO:
        root.setLevel(logging.INFO)
