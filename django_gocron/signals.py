"""Django signals: one for each event, sent with ``event=``, and only where somebody listens.

``sender`` is the event's class. Receivers run in the thread that publishes, must be quick, and may fail: that is
logged and disturbs nobody.
"""

from __future__ import annotations

import logging

from django.dispatch import Signal

from django_gocron import events

logger = logging.getLogger("django_gocron")

scheduler_started = Signal()
scheduler_stopping = Signal()
scheduler_stopped = Signal()
scheduler_shutdown = Signal()
run_started = Signal()
run_executing = Signal()
listener_failed = Signal()
run_succeeded = Signal()
run_failed = Signal()
run_timed_out = Signal()
run_cancelled = Signal()
run_queued = Signal()
retry_queued = Signal()
run_skipped = Signal()
lock_not_acquired = Signal()
lock_lost = Signal()
run_lost = Signal()
result_refused = Signal()
job_registered = Signal()
job_unregistered = Signal()
ticks_missed = Signal()
ticks_coalesced = Signal()
job_broken = Signal()
job_quarantined = Signal()
job_finished = Signal()
leadership_gained = Signal()
leadership_lost = Signal()
engine_stalled = Signal()
lease_lost = Signal()
instance_reaped = Signal()
database_lost = Signal()
database_recovered = Signal()
clock_jumped = Signal()

SIGNALS: dict[type[events.Event], Signal] = {
    events.SchedulerStarted: scheduler_started,
    events.SchedulerStopping: scheduler_stopping,
    events.SchedulerStopped: scheduler_stopped,
    events.SchedulerShutdown: scheduler_shutdown,
    events.RunStarted: run_started,
    events.RunExecuting: run_executing,
    events.ListenerFailed: listener_failed,
    events.RunSucceeded: run_succeeded,
    events.RunFailed: run_failed,
    events.RunTimedOut: run_timed_out,
    events.RunCancelled: run_cancelled,
    events.RunQueued: run_queued,
    events.RetryQueued: retry_queued,
    events.RunSkipped: run_skipped,
    events.LockNotAcquired: lock_not_acquired,
    events.LockLost: lock_lost,
    events.RunLost: run_lost,
    events.ResultRefused: result_refused,
    events.JobRegistered: job_registered,
    events.JobUnregistered: job_unregistered,
    events.TicksMissed: ticks_missed,
    events.TicksCoalesced: ticks_coalesced,
    events.JobBroken: job_broken,
    events.JobQuarantined: job_quarantined,
    events.JobFinished: job_finished,
    events.LeadershipGained: leadership_gained,
    events.LeadershipLost: leadership_lost,
    events.EngineStalled: engine_stalled,
    events.LeaseLost: lease_lost,
    events.InstanceReaped: instance_reaped,
    events.DatabaseLost: database_lost,
    events.DatabaseRecovered: database_recovered,
    events.ClockJumped: clock_jumped,
}


def send(event: events.Event) -> None:
    """The receiver of events that sends signals."""
    signal = SIGNALS[type(event)]
    if not signal.receivers:
        return
    for receiver, answer in signal.send_robust(sender=type(event), event=event):
        if isinstance(answer, Exception):
            logger.error("The receiver %r of a signal failed.", receiver, exc_info=answer)
