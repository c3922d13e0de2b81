"""What every event says of the job, or the run, that it is about. An entry says it of itself."""

from __future__ import annotations

from typing import Any

from django_gocron.models import Job, Run

TAGS = Job._meta.get_field("tags")


def job_identity(job: Job) -> dict[str, Any]:
    """Whoever has made the job may have given its tags as a text."""
    return {"job_id": job.pk, "job_name": job.name, "tags": tuple(TAGS.to_python(job.tags))}


def run_identity(run: Run) -> dict[str, Any]:
    """With its job's tags where the job has been read together with it: they are worth no query."""
    job = run.job if Run.job.is_cached(run) else None
    return {
        "run_id": run.pk,
        "job_id": run.job_id or 0,
        "job_name": run.job_name,
        "task": run.task,
        "scheduled_for": run.scheduled_for,
        "tags": tuple(job.tags) if job else (),
    }
