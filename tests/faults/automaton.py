"""What should become of the ticks of one job: misfire, overlap and pause, in as few words as they can be said in.

Time is counted in ticks. It shares no code with the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Row = tuple[int, str, int]
"""The first tick it stands for, what became of it, and how many ticks it stands for."""


@dataclass(slots=True, kw_only=True)
class Automaton:
    misfire: str
    overlap: str
    now: int = 0
    planned: int = 0
    paused: bool = False
    holds: bool = False
    rows: list[Row] = field(default_factory=list)

    def look(self) -> None:
        """A scheduler looks: every tick up to now gets what it is due."""
        first, number = self.planned + 1, self.now - self.planned
        if self.paused or number == 0:
            return
        self.planned = self.now
        if self.misfire == "run_all":
            for tick in range(first, self.now + 1):
                self._run(tick)
            return
        if number > 1:
            passed = "coalesced" if self.misfire == "run_once" else "missed(grace)"
            self.rows.append((first, passed, number - 1))
        self._run(self.now)

    def pass_time(self, ticks: int) -> None:
        self.now += ticks

    def hold(self) -> None:
        """From now on runs do not end. Ticks that are caught up with wait for each other, which is another story."""
        self.holds = (self.misfire, self.overlap) != ("run_all", "skip")

    def release(self) -> None:
        self.holds = False
        self.rows = [
            (tick, status.replace("running", "succeeded"), count) for tick, status, count in self.rows
        ]

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        """What was slept through is not fired."""
        if self.paused:
            self.paused, self.planned = False, self.now

    def _run(self, tick: int) -> None:
        is_busy = any(status == "running" for _tick, status, _count in self.rows)
        if is_busy and self.overlap == "skip":
            self.rows.append((tick, "skipped(overlap)", 1))
        else:
            self.rows.append((tick, "running" if self.holds else "succeeded", 1))
