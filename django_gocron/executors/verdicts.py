"""From what a task did to the outcome of its run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from django_gocron.context import Cause
from django_gocron.exceptions import ArgumentsError, Cancelled, Retry
from django_gocron.executors import results
from django_gocron.executors.outcome import Outcome
from django_gocron.executors.texts import message_of, storable, traceback_of
from django_gocron.masking import find_secrets, mask_text

if TYPE_CHECKING:
    from datetime import datetime
    from types import TracebackType

    from django_gocron.executors.base import Clock, Work

ENDINGS = {
    Cause.TIMEOUT: ("timed_out", ""),
    Cause.BY_USER: ("cancelled", "by_user"),
    Cause.SHUTDOWN: ("cancelled", "shutdown"),
}
"""Status and reason of a run that has let itself be cancelled."""

LONGEST_MESSAGE = 2_000
LONGEST_TRACEBACK = 100_000


class Verdict:
    """On one run, which began when this was made. ``error`` is what its task raised or returned, if it did."""

    def __init__(self, work: Work, clock: Clock) -> None:
        self._work = work
        self._clock = clock
        self._started_at: datetime = clock.now()
        self.error: BaseException | None = None

    def on_result(self, result: Any) -> Outcome:
        """The task has returned. One that returns an exception, or a tuple with one, has failed by that."""
        for one in result if isinstance(result, tuple) else (result,):
            if isinstance(one, BaseException):
                return self.on_error(one)
        return self._succeeded(result)

    def on_error(self, error: BaseException) -> Outcome:
        """A task that was asked to end, and lets that through, has been cancelled; one that cancels itself has failed,
        and one that exits without a code has succeeded."""
        if _exits_well(error):
            return self._succeeded(None)
        self.error = error
        cause = self._work.cancellation.cause
        if cause is not None and isinstance(error, Cancelled | asyncio.CancelledError):
            status, reason = ENDINGS[cause]
            return self._ended(error, status, reason, self._work.cancellation.words)
        return self._ended(error, "failed", _reason(error))

    def on_refusal(self, error: BaseException) -> Outcome:
        """A listener has refused the run, whose task did not begin; or it was asked to end before that."""
        if (
            isinstance(error, Cancelled | asyncio.CancelledError)
            and self._work.cancellation.cause is not None
        ):
            return self.on_error(error)
        return self._ended(error, "skipped", "before_run")

    def _succeeded(self, result: Any) -> Outcome:
        return Outcome(
            status="succeeded",
            started_at=self._started_at,
            finished_at=self._clock.now(),
            result=results.keep(result),
            output=mask_text(self._work.output.text(), find_secrets(self._work.kwargs)),
        )

    def _ended(self, error: BaseException, status: str, reason: str, words: str = "") -> Outcome:
        finished_at, secrets = self._clock.now(), find_secrets(self._work.kwargs)
        return Outcome(
            status=status,
            reason=reason,
            started_at=self._started_at,
            finished_at=finished_at,
            error_type=_qualified_name(type(error))[:255],
            error_message=_bounded(message_of(error) or words, secrets, LONGEST_MESSAGE),
            traceback=_bounded(_trace(error), secrets, LONGEST_TRACEBACK),
            output=mask_text(self._work.output.text(), secrets),
            retry_after=error.after if isinstance(error, Retry) else None,
        )


def _exits_well(error: BaseException) -> bool:
    try:
        return isinstance(error, SystemExit) and error.code in (None, 0)
    except BaseException:  # noqa: BLE001 - the code may be anything, even what cannot be compared
        return False


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "exit"
    return "bad_arguments" if isinstance(error, ArgumentsError) else "exception"


def _qualified_name(kind: type[BaseException]) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _trace(error: BaseException) -> str:
    """Without the frame of ours that called the task."""
    own: TracebackType | None = error.__traceback__
    return traceback_of(error, own.tb_next if own else None)


def _bounded(text: str, secrets: set[str], longest: int) -> str:
    """Masked before it is cut, lest a part of a secret stays; but not all of a text without end."""
    return storable(mask_text(text[: 2 * longest], secrets))[:longest]
