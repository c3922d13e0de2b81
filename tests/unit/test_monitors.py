"""What monitors are told of which event, and in what order; what becomes of those that fail."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core import checks

from django_gocron import events
from django_gocron.checks import TAG
from django_gocron.conf import get_settings
from django_gocron.exceptions import ConfigurationError
from django_gocron.monitors.base import FinishedRun, Monitor
from django_gocron.monitors.feed import Feed, make_monitors, read_end
from django_gocron.monitors.memory import OTHERS, MemoryMonitor
from tests.monitors import METHODS, Failing, Recorder
from tests.unit.test_events import KINDS
from tests.unit.test_logs import AT, JOB, LINES, RUN, SECOND, SPAN

DELAY = timedelta(milliseconds=12)

TOLD: dict[type[events.Event], list[str]] = {
    events.SchedulerStarted: ["scheduler_started"],
    events.SchedulerStopped: ["scheduler_stopped"],
    events.SchedulerShutdown: ["scheduler_shutdown"],
    events.JobRegistered: ["job_registered"],
    events.JobUnregistered: ["job_unregistered"],
    events.TicksMissed: ["ticks_missed"],
    events.RunStarted: ["run_started", "scheduling_delay"],
    events.RunExecuting: ["run_executing"],
    events.RunSucceeded: ["run_finished", "execution_time", "run_completed"],
    events.RunFailed: ["run_finished", "execution_time", "run_failed"],
    events.RunTimedOut: ["run_finished", "execution_time", "run_failed"],
    events.RunLost: ["run_finished", "run_failed"],
    events.RunCancelled: ["run_finished"],
    events.RunSkipped: ["run_finished", "concurrency_limit_reached"],
}
"""The calls for each kind of event, as ``LINES`` has it (the skipped one overlaps). There are none for any other."""


def of_kind(kind: type[events.Event]) -> events.Event:
    return next(event for event, _level, _line in LINES if type(event) is kind)


def started(**values: Any) -> events.RunStarted:
    return events.RunStarted(**{**RUN, **values}, lag=DELAY)


def succeeded(**values: Any) -> events.RunSucceeded:
    return events.RunSucceeded(**{**RUN, "took": SECOND, **values})


def failed(error_type: str = "ValueError", error_message: str = "no") -> events.RunFailed:
    return events.RunFailed(
        **RUN,
        took=SECOND,
        reason="exception",
        error_type=error_type,
        error_message=error_message,
        traceback="",
        failures_in_row=1,
    )


def skipped(reason: str) -> events.RunSkipped:
    return events.RunSkipped(**RUN, reason=reason)


def hear(*happened: events.Event) -> Recorder:
    """A monitor that was told of these."""
    monitor = Recorder()
    feed = Feed([monitor])
    for event in happened:
        feed(event)
    return monitor


def end(event: events.RunEvent) -> FinishedRun:
    run = read_end(event)
    assert run is not None
    return run


# What they are told


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_monitors_are_told_of_an_event_by_these_calls(kind: type[events.Event]):
    assert hear(of_kind(kind)).names == TOLD.get(kind, [])


def test_every_method_of_the_contract_answers_to_an_event():
    assert {name for names in TOLD.values() for name in names} == set(METHODS)


@pytest.mark.parametrize("name", [names[0] for names in TOLD.values() if names[0] != "run_finished"])
def test_what_is_no_end_is_told_by_the_event_itself(name: str):
    event = of_kind(next(kind for kind, names in TOLD.items() if names[0] == name))
    assert hear(event).told(name) == [event]


def test_the_delay_is_told_with_the_run_that_begins():
    event = started()
    assert hear(event).told("scheduling_delay") == [(event, DELAY)]


def test_the_end_of_a_run_is_told_with_all_that_is_known_of_it():
    assert hear(succeeded(tags=("nightly", "shop"))).told("run_finished") == [
        FinishedRun(
            run_id=1841,
            job_id=7,
            job_name="Sync",
            tags=("nightly", "shop"),
            task="shop.sync",
            scheduled_for=AT,
            finished_at=AT,
            took=SECOND,
            status="succeeded",
            reason="",
            error="",
        )
    ]


@pytest.mark.parametrize(
    ("event", "status", "reason", "took"),
    [
        (succeeded(), "succeeded", "", SECOND),
        (failed(), "failed", "exception", SECOND),
        (of_kind(events.RunTimedOut), "timed_out", "", 5 * SECOND),
        (events.RunCancelled(**RUN, reason="by_user"), "cancelled", "by_user", None),
        (events.RunCancelled(**RUN, reason="shutdown", took=SECOND), "cancelled", "shutdown", SECOND),
        (skipped("lock_busy"), "skipped", "lock_busy", None),
        (of_kind(events.RunLost), "lost", "instance_gone", None),
    ],
    ids=["succeeded", "failed", "timed out", "cancelled", "cancelled at work", "skipped", "lost"],
)
def test_an_end_has_the_runs_own_words(
    event: events.RunEvent, status: str, reason: str, took: timedelta | None
):
    run = end(event)
    assert (run.status, run.reason, run.took) == (status, reason, took)


@pytest.mark.parametrize(
    ("raised", "error"), [(("ValueError", "no"), "ValueError: no"), (("SystemExit", ""), "SystemExit")]
)
def test_a_failed_run_says_what_its_task_raised(raised: tuple[str, str], error: str):
    assert end(failed(*raised)).error == error


def test_a_run_began_as_long_before_its_end_as_it_took():
    assert end(succeeded(took=3 * SECOND)).started_at == AT - 3 * SECOND


def test_a_run_that_did_not_execute_began_at_no_time():
    assert end(skipped("overlap")).started_at is None


def test_a_cancelled_run_that_executed_is_timed():
    cancelled = events.RunCancelled(**RUN, reason="by_user", took=SECOND)
    assert hear(cancelled).names == ["run_finished", "execution_time"]
    assert hear(cancelled).told("execution_time") == [(end(cancelled), SECOND)]


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("overlap", "singleton"),
        ("queue_full", "singleton"),
        ("superseded", "singleton"),
        ("limit", "limit"),
    ],
)
def test_a_tick_that_found_no_place_tells_which_limit_was_reached(reason: str, limit: str):
    event = skipped(reason)
    assert hear(event).told("concurrency_limit_reached") == [(limit, end(event))]


@pytest.mark.parametrize("reason", ["lock_busy", "lock_error", "before_run", "paused"])
def test_a_run_that_was_skipped_for_another_reason_reached_no_limit(reason: str):
    assert hear(skipped(reason)).names == ["run_finished"]


def test_the_contract_by_itself_does_nothing(caplog: pytest.LogCaptureFixture):
    feed = Feed([Monitor()])
    for event, _level, _line in LINES:
        feed(event)
    assert caplog.records == []


# Several, and those that fail


def test_monitors_are_told_one_after_the_other_in_their_order():
    calls: list[str] = []

    class Named(Monitor):
        def __init__(self, name: str) -> None:
            self.name = name

        def run_started(self, event: events.RunStarted) -> None:
            calls.append(f"{self.name} started")

        def scheduling_delay(self, event: events.RunStarted, delay: timedelta) -> None:
            calls.append(f"{self.name} delay")

    Feed([Named("b"), Named("a")])(started())
    assert calls == ["b started", "b delay", "a started", "a delay"]


def test_one_that_raises_disturbs_none_of_the_others():
    before, after = Recorder(), Recorder()
    Feed([before, Failing(), after])(started())
    assert before.names == after.names == ["run_started", "scheduling_delay"]


def test_one_that_raises_is_logged_by_its_name_once_an_event(caplog: pytest.LogCaptureFixture):
    Feed([Failing()])(started())
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == "The monitor tests.monitors.Failing failed on RunStarted."
    assert record.exc_info


def test_one_that_has_raised_is_told_of_the_next_event():
    class FailsAtFirst(Recorder):
        def job_registered(self, event: events.JobRegistered) -> None:
            raise RuntimeError

    monitor = FailsAtFirst()
    feed = Feed([monitor])
    feed(events.JobRegistered(**JOB))
    feed(events.JobUnregistered(**JOB))
    assert monitor.names == ["job_unregistered"]


def test_a_feed_hears_while_it_is_entered():
    monitor = Recorder()
    with Feed([monitor]):
        events.publish(events.JobRegistered(**JOB))
    events.publish(events.JobUnregistered(**JOB))
    assert monitor.names == ["job_registered"]


# The setting


RECORDER = {"BACKEND": "tests.monitors.Recorder", "OPTIONS": {"label": "first"}}


def make(settings: Any, *monitors: Any) -> list[Any]:
    settings.GOCRON = {"MONITORS": list(monitors)}
    return make_monitors(get_settings())


def test_without_the_setting_there_are_none(settings: Any):
    settings.GOCRON = {}
    assert make_monitors(get_settings()) == []


def test_monitors_are_made_with_their_options_in_their_order(settings: Any):
    first, second = make(settings, RECORDER, {"BACKEND": "tests.monitors.Recorder"})
    assert (first.label, second.label) == ("first", "")


def test_every_scheduler_has_monitors_of_its_own(settings: Any):
    assert make(settings, RECORDER)[0] is not make(settings, RECORDER)[0]


@pytest.mark.parametrize(
    ("monitor", "words"),
    [
        (
            "tests.monitors.Recorder",
            "GOCRON['MONITORS'][1] must be a dictionary with the dotted path of a class",
        ),
        ({**RECORDER, "OPTION": {}}, "Did you mean 'OPTIONS'?"),
    ],
)
def test_a_wrong_form_is_told_with_its_place(settings: Any, monitor: Any, words: str):
    with pytest.raises(ConfigurationError) as caught:
        make(settings, RECORDER, monitor)
    assert (caught.value.code, caught.value.field) == ("bad_setting", "MONITORS")
    assert words in caught.value.message


WRONG = [
    ({"BACKEND": "shop.metrics.Monitor"}, "'shop.metrics.Monitor' cannot be imported"),
    (
        {"BACKEND": "datetime.timedelta"},
        "datetime.timedelta is not a subclass of django_gocron.monitors.base.Monitor.",
    ),
    ({**RECORDER, "OPTIONS": {"colour": 1}}, "tests.monitors.Recorder does not take these OPTIONS"),
    ({"BACKEND": "tests.monitors.Refusing"}, "tests.monitors.Refusing raised RuntimeError: no such server"),
]


@pytest.mark.parametrize(("monitor", "words"), WRONG)
def test_one_that_cannot_be_made_is_an_error_with_its_place(settings: Any, monitor: Any, words: str):
    with pytest.raises(ConfigurationError) as caught:
        make(settings, RECORDER, monitor)
    assert caught.value.code == "bad_backend"
    assert caught.value.message.startswith(f"GOCRON['MONITORS'][1]: {words}")


def found(settings: Any, *monitors: Any) -> list[tuple[str | None, str]]:
    settings.GOCRON = {"MONITORS": list(monitors)}
    return [(message.id, message.msg) for message in checks.run_checks(tags=[TAG], databases=[])]


@pytest.mark.parametrize(("monitor", "words"), WRONG)
def test_the_system_check_tells_of_it_before_a_scheduler_does(settings: Any, monitor: Any, words: str):
    ((identity, message),) = found(settings, RECORDER, monitor)
    assert identity == "gocron.E005"
    assert message.startswith(f"GOCRON['MONITORS'][1]: {words}")


def test_the_system_check_tells_of_all_that_cannot_be_made(settings: Any):
    assert [identity for identity, _message in found(settings, *(monitor for monitor, _ in WRONG))] == [
        "gocron.E005"
    ] * len(WRONG)


def test_the_system_check_has_nothing_against_right_ones(settings: Any):
    assert found(settings, RECORDER, {"BACKEND": "django_gocron.monitors.memory.MemoryMonitor"}) == []


def test_a_setting_that_is_wrong_altogether_is_reported_once(settings: Any):
    assert [identity for identity, _message in found(settings, "Recorder")] == ["gocron.E001"]


# The one that keeps its counts in memory


@pytest.fixture
def _hasty_threads() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def fed(monitor: MemoryMonitor, *happened: events.Event) -> MemoryMonitor:
    feed = Feed([monitor])
    for event in happened:
        feed(event)
    return monitor


def test_ends_are_counted_by_job_status_and_reason():
    other = succeeded(job_name="Report")
    monitor = fed(MemoryMonitor(), succeeded(), succeeded(), other, failed(), skipped("limit"))
    assert monitor.counts() == {
        ("Sync", "succeeded", ""): 2,
        ("Report", "succeeded", ""): 1,
        ("Sync", "failed", "exception"): 1,
        ("Sync", "skipped", "limit"): 1,
    }


def test_missed_ticks_count_as_many_as_they_are():
    monitor = fed(MemoryMonitor(), events.TicksMissed(**JOB, **SPAN, reason="grace"))
    assert monitor.counts() == {("Sync", "missed", "grace"): SPAN["count"]}


def test_the_last_duration_is_that_of_the_last_run_that_executed():
    monitor = fed(MemoryMonitor(), succeeded(took=9 * SECOND), succeeded(took=2 * SECOND), skipped("overlap"))
    assert monitor.last_took("Sync") == 2 * SECOND
    assert monitor.last_took("Report") is None


def test_the_mean_delay_is_that_of_all_runs_that_began():
    late = [events.RunStarted(**RUN, lag=seconds * SECOND) for seconds in (1, 2, 6)]
    monitor = fed(MemoryMonitor(), *late)
    assert monitor.mean_delay("Sync") == 3 * SECOND
    assert monitor.mean_delay("Report") is None


def test_jobs_beyond_the_bound_are_counted_together():
    jobs = [succeeded(job_name=f"job {number}", took=number * SECOND) for number in range(5)]
    monitor = fed(MemoryMonitor(most_jobs=2), *jobs, *jobs)
    assert monitor.counts() == {
        ("job 0", "succeeded", ""): 2,
        ("job 1", "succeeded", ""): 2,
        (OTHERS, "succeeded", ""): 6,
    }
    assert (monitor.last_took("job 1"), monitor.last_took(OTHERS)) == (SECOND, 4 * SECOND)


def test_what_is_answered_does_not_change_any_more():
    monitor = fed(MemoryMonitor(), succeeded())
    counts = monitor.counts()
    fed(monitor, succeeded())
    assert counts == {("Sync", "succeeded", ""): 1}


class SlowlyAdded(timedelta):
    """Another thread has its turn while it is being added."""

    def __radd__(self, other: timedelta) -> timedelta:
        for _ in range(50):
            pass
        return other + timedelta(seconds=self.total_seconds())


@pytest.mark.usefixtures("_hasty_threads")
def test_nothing_that_several_threads_tell_at_the_same_time_is_lost():
    monitor = MemoryMonitor()
    barrier = threading.Barrier(4)

    def tell() -> None:
        barrier.wait()
        fed(monitor, *[events.RunStarted(**RUN, lag=SlowlyAdded(seconds=1)), succeeded()] * 500)

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert monitor.counts() == {("Sync", "succeeded", ""): 2000}
    assert monitor._delays["Sync"] == (2000, 2000 * SECOND)
