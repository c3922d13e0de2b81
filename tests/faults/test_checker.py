"""The checker finds what it is there to find: a sound history, and the same with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from django_gocron import Every
from django_gocron.models import Job, JobState, Run
from tests.faults.checker import Evidence, all_wrong, late

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def job() -> Job:
    job = Job(pk=1, name="job", schedule=Every(seconds=1))
    job.state = JobState(pk=1, next_tick_at=NOON + 5 * SECOND)
    return job


def succeeded(number: int) -> Run:
    tick = NOON + number * SECOND
    return Run(
        pk=number,
        job_id=1,
        job_name="job",
        scheduled_for=tick,
        available_at=tick,
        status="succeeded",
        started_at=tick,
        finished_at=tick + SECOND / 2,
    )


def executed(run: Run) -> list[dict[str, object]]:
    common = {
        "run": run.pk,
        "job": 1,
        "name": "job",
        "tick": run.scheduled_for.isoformat(),
        "attempt": run.attempt,
    }
    return [
        {"kind": "begin", **common},
        {
            "kind": "token",
            "token": run.pk + 1,
            "asked_at": 10.0 * run.pk,
            "boottime": 10.0 * run.pk + 1,
            **common,
        },
        {"kind": "end", **common},
    ]


def with_tokens(sound: Evidence, *tokens: int) -> Evidence:
    left = list(tokens)
    lines = [line | {"token": left.pop(0)} if line["kind"] == "token" else line for line in sound.lines]
    return replace(sound, lines=lines)


def sound() -> Evidence:
    """Ticks 0 to 4: one run each but for 2 and 3, which stand in one row."""
    runs = [succeeded(0), succeeded(1), succeeded(4)]
    passed = Run(pk=2, job_id=1, job_name="job", status="coalesced", scheduled_for=NOON + 2 * SECOND, count=2)
    passed.window_end = NOON + 3 * SECOND
    lines = [line for run in runs for line in executed(run)]
    return Evidence(jobs=[job()], runs=[*runs, passed], lines=lines)


def wrong(evidence: Evidence) -> str:
    return "\n".join(all_wrong(evidence))


def without(evidence: Evidence, pk: int) -> Evidence:
    return replace(evidence, runs=[run for run in evidence.runs if run.pk != pk])


def with_run(evidence: Evidence, **values: object) -> Evidence:
    run = succeeded(4)
    for name, value in {"pk": 9, **values}.items():
        setattr(run, name, value)
    return replace(evidence, runs=[*evidence.runs, run])


def changed(pk: int, **values: object) -> Callable[[Evidence], Evidence]:
    def change(evidence: Evidence) -> Evidence:
        for run in evidence.runs:
            if run.pk == pk:
                for name, value in values.items():
                    setattr(run, name, value)
        return evidence

    return change


def test_a_sound_history_has_nothing_wrong():
    assert wrong(sound()) == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda sound: without(sound, 1), "I1 after tick 2026-03-01 12:00:00"),
        (lambda sound: without(sound, 4), "I1 after tick 2026-03-01 12:00:03"),
        (lambda sound: with_run(sound), "I1 tick 2026-03-01 12:00:04+00:00 of job has 2 rows"),
        (changed(2, count=3), "I1 run 2 of job counts 3 ticks"),
        (
            lambda sound: with_run(sound, attempt=2),
            "I2 tick 2026-03-01 12:00:04+00:00 of job has succeeded 2",
        ),
        (lambda sound: replace(sound, lines=[*sound.lines, sound.lines[0]]), "was begun 2 times"),
        (
            lambda sound: replace(sound, lines=sound.lines[1:]),
            "I2 run 0 of job succeeded and was never executed",
        ),
        (changed(1, status="skipped", reason="overlap"), "I2 run 1 was begun and is skipped(overlap)"),
        (changed(0, finished_at=NOON + 1.2 * SECOND), "I3 run 1 of job started"),
        (lambda sound: with_tokens(sound, 3, 2, 5), "I4 job 1 drew token 2 after 3"),
        (changed(4, status="running"), "I6 run 4 of job for 2026-03-01 12:00:04+00:00 is still running"),
        (changed(1, held_lock="1"), "I6 run 1 of job, succeeded, still holds its lock"),
    ],
)
def test_what_is_wrong_is_found(change: Callable[[Evidence], Evidence], sentence: str):
    assert sentence in wrong(change(sound()))


def test_a_job_that_may_overlap_may():
    evidence = changed(0, finished_at=NOON + 2 * SECOND)(sound())
    evidence.jobs[0].overlap = "allow"
    assert wrong(evidence) == ""


def many(number: int) -> Evidence:
    return Evidence(jobs=[job()], runs=[succeeded(second) for second in range(number)])


def test_a_bystander_on_time_is_none_that_was_late():
    evidence = many(10)
    assert list(late(evidence, evidence.jobs, SECOND / 10)) == []


def test_a_bystander_that_was_late_is_found():
    evidence = changed(1, started_at=NOON + 1.2 * SECOND)(many(10))
    assert list(late(evidence, evidence.jobs, SECOND / 10)) == [
        "I5 job ran 0:00:00.200000 after its tick 2026-03-01 12:00:01+00:00"
    ]


def test_a_bystander_that_stopped_running_is_found():
    evidence = many(10)
    for run in evidence.runs[2:]:
        run.started_at, run.status = None, "missed"
    assert "I5 job did not run any more after 2026-03-01 12:00:02+00:00" in list(
        late(evidence, evidence.jobs)
    )
