"""The kinds of schedules that the form of a job offers, and what the fields of each are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

MANUAL, JSON = "manual", "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to say when. ``needed`` are parameters without which there is nothing to ask the schedule."""

    name: str
    label: _StrPromise
    schedule: type[Schedule] | None = None
    parameters: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    @property
    def fields(self) -> list[str]:
        return [self.field(parameter) for parameter in self.parameters]

    def field(self, parameter: str) -> str:
        """The form field of a parameter; of another's fault, the first."""
        known = parameter if parameter in self.parameters else self.parameters[0]
        return f"{self.name}_{known}"


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="every",
            label=gettext_lazy("Every …"),
            schedule=Every,
            parameters=("interval",),
            needed=("interval",),
        ),
        Kind(
            name="every_random",
            label=gettext_lazy("Random interval"),
            schedule=EveryRandom,
            parameters=("min", "max"),
            needed=("min", "max"),
        ),
        Kind(name="daily", label=gettext_lazy("Daily"), schedule=Daily, parameters=("at", "every")),
        Kind(
            name="weekly",
            label=gettext_lazy("Weekly"),
            schedule=Weekly,
            parameters=("on", "at", "every", "week_start"),
        ),
        Kind(
            name="monthly", label=gettext_lazy("Monthly"), schedule=Monthly, parameters=("on", "at", "every")
        ),
        Kind(name="cron", label=gettext_lazy("Cron"), schedule=Cron, parameters=("expression",)),
        Kind(name="one_time", label=gettext_lazy("Once"), schedule=OneTime, parameters=("at",)),
        Kind(name=MANUAL, label=gettext_lazy("Only by hand")),
        Kind(name=JSON, label=gettext_lazy("Another kind, as JSON"), parameters=("data",), needed=("data",)),
    )
}
