"""How a run ended, as a value."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from django_gocron.executors.texts import in_ascii

if TYPE_CHECKING:
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``status`` is ``succeeded``, ``failed``, ``timed_out``, ``cancelled`` or ``skipped``; instants are aware UTC."""

    status: str
    reason: str = ""
    started_at: datetime
    finished_at: datetime
    error_type: str = ""
    error_message: str = ""
    traceback: str = ""
    result: Any = None
    output: str = ""
    retry_after: timedelta | None = None
    """When the task asked to be tried again; None: it did not ask."""
    still_executes: bool = False
    """Whether the task's code goes on, and so keeps the run's lock."""

    @property
    def took(self) -> timedelta:
        return self.finished_at - self.started_at

    @property
    def size(self) -> int:
        """Characters it takes to write it, about."""
        texts = (self.error_message, self.traceback, self.output, json.dumps(self.result))
        return sum(map(len, texts))

    def bare(self) -> Self:
        """Nothing but how it ended and when."""
        return replace(self, error_type="", error_message="", traceback="", output="", result=None)

    def in_ascii(self) -> Self:
        """The same with plainer texts, and the result as one: for a database that does not take it as it is."""
        return replace(
            self,
            error_type=in_ascii(self.error_type),
            error_message=in_ascii(self.error_message),
            traceback=in_ascii(self.traceback),
            output=in_ascii(self.output),
            result=None if self.result is None else json.dumps(self.result),
        )
