"""What a sync of declared jobs did, or would do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What became of a declaration."""

    CREATED = "created"
    UPDATED = "updated"
    RENAMED = "renamed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``changed`` fields follow the code now; ``overridden`` ones stay as people set them; ``message`` says why a
    declaration was refused, and where it stands."""

    key: str
    name: str
    action: Action
    changed: tuple[str, ...] = ()
    overridden: tuple[str, ...] = ()
    former_key: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did, or with ``dry_run`` would do: one outcome for each declaration, by key."""

    outcomes: tuple[Outcome, ...]

    def having(self, *actions: Action) -> list[Outcome]:
        """The outcomes with one of these actions."""
        return [outcome for outcome in self.outcomes if outcome.action in actions]

    @property
    def refused(self) -> list[Outcome]:
        return self.having(Action.REFUSED)

    @property
    def summary(self) -> str:
        """``3 jobs: 1 created, 2 unchanged``."""
        counts = Counter(outcome.action for outcome in self.outcomes)
        parts = ", ".join(f"{counts[action]} {action}" for action in Action if counts[action])
        number = len(self.outcomes)
        return f"{number} declared job{'' if number == 1 else 's'}{': ' if parts else ''}{parts}"
