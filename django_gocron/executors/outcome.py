"""How a run ended, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``status`` is ``succeeded``, ``failed`` or ``cancelled``; instants are aware UTC."""

    status: str
    reason: str = ""
    started_at: datetime
    finished_at: datetime
    error_type: str = ""
    error_message: str = ""
    traceback: str = ""
    result: Any = None
    output: str = ""

    @property
    def took(self) -> timedelta:
        return self.finished_at - self.started_at
