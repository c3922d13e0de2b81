"""What can be asked of a job or a run row: thin methods over ``django_gocron.operations``, each with an async twin.

They are looked up by name when called: rows lie below the operations, and know nothing of them. Those that write
say so (``alters_data``): a template that names one does not call it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from django_gocron.models.run import Run


def _operation(name: str) -> Any:
    return import_string(f"django_gocron.operations.{name}")


class JobActions:
    """Mixed into ``Job``."""

    def run_now(
        self,
        *,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        force: bool = False,
        by: str = "",
        idempotency_key: str = "",
    ) -> Run:
        """Queue a run by hand and answer its row at once; see ``operations.run_now``."""
        run: Run = _operation("run_now")(
            self, args=args, kwargs=kwargs, force=force, by=by, idempotency_key=idempotency_key
        )
        return run

    run_now.alters_data = True  # type: ignore[attr-defined]

    def pause(self, reason: str = "", until: datetime | None = None, by: str = "") -> None:
        """Stop the job's ticks, for good or until an aware instant; see ``operations.pause``."""
        _operation("pause")(self, reason=reason, until=until, by=by)

    pause.alters_data = True  # type: ignore[attr-defined]

    def resume(self) -> None:
        """Let the job have ticks again, from now on; ends a quarantine too."""
        _operation("resume")(self)

    resume.alters_data = True  # type: ignore[attr-defined]

    def release(self) -> bool:
        """End the job's quarantine; answer whether it was in one. See ``operations.release``."""
        was_quarantined: bool = _operation("release")(self)
        return was_quarantined

    release.alters_data = True  # type: ignore[attr-defined]

    def skip_next(self, by: str = "") -> datetime:
        """Leave out the next tick; answer which, aware UTC. Raises ``OperationError`` (``no_next_run``)."""
        tick: datetime = _operation("skip_next")(self, by=by)
        return tick

    skip_next.alters_data = True  # type: ignore[attr-defined]

    def next_runs(self, n: int = 5) -> list[datetime]:
        """The next ``n`` instants at which the job is to run, aware UTC; see ``operations.next_runs``."""
        instants: list[datetime] = _operation("next_runs")(self, n)
        return instants

    def next_run(self) -> datetime | None:
        """The first of ``next_runs``, or None."""
        instant: datetime | None = _operation("next_run")(self)
        return instant

    def last_run(self) -> Run | None:
        """The run that began last, as long as it is kept; None before the first."""
        run: Run | None = _operation("last_run")(self)
        return run

    def last_run_started_at(self) -> datetime | None:
        """When the last run began, those by hand included, aware UTC; None before the first."""
        instant: datetime | None = _operation("last_run_started_at")(self)
        return instant

    def last_run_completed_at(self) -> datetime | None:
        """When a run last came to its end, aware UTC; None before."""
        instant: datetime | None = _operation("last_run_completed_at")(self)
        return instant

    def is_running(self) -> bool:
        """Whether a run executes now, anywhere."""
        answer: bool = _operation("is_running")(self)
        return answer

    arun_now = sync_to_async(run_now)
    apause = sync_to_async(pause)
    aresume = sync_to_async(resume)
    arelease = sync_to_async(release)
    askip_next = sync_to_async(skip_next)
    anext_runs = sync_to_async(next_runs)
    anext_run = sync_to_async(next_run)
    alast_run = sync_to_async(last_run)
    alast_run_started_at = sync_to_async(last_run_started_at)
    alast_run_completed_at = sync_to_async(last_run_completed_at)
    ais_running = sync_to_async(is_running)


class RunActions:
    """Mixed into ``Run``."""

    def cancel(self, by: str = "") -> str:
        """End the run if it has not begun ("cancelled"), or ask it to end ("requested"); see ``operations.cancel``."""
        answer: str = _operation("cancel")(self, by=by)
        return answer

    cancel.alters_data = True  # type: ignore[attr-defined]

    acancel = sync_to_async(cancel)
