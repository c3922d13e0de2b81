"""Counting how runs of this process end."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Self

from django_gocron import events

if TYPE_CHECKING:
    from types import TracebackType

WORDS = {
    events.RunSucceeded: "succeeded",
    events.RunFailed: "failed",
    events.RunTimedOut: "timed out",
    events.RunCancelled: "cancelled",
    events.RunSkipped: "skipped",
}


class Tally:
    """``with Tally() as tally: ...``; as text: "3 due: 2 succeeded, 1 failed"."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        events.subscribe(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        events.unsubscribe(self._note)

    def __str__(self) -> str:
        ended = ", ".join(f"{self._counts[word]} {word}" for word in WORDS.values() if self._counts[word])
        return f"{self._counts.total()} due" + (f": {ended}" if ended else "")

    @property
    def failed(self) -> int:
        """How many went wrong."""
        return self._counts["failed"] + self._counts["timed out"]

    def _note(self, event: events.Event) -> None:
        word = WORDS.get(type(event))
        if word is not None:
            with self._lock:
                self._counts[word] += 1
