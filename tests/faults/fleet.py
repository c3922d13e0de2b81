"""Instances in processes that a test starts, freezes, thaws, kills and stops."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Self

from tests.faults.instance import Plan, run
from tests.faults.trace import Trace, wait_until
from tests.heard import PATIENCE

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.faults.instance"])


class Instance:
    """One process. ``pid`` is its own."""

    def __init__(self, plan: Plan, process: ForkServerProcess, trace: Trace) -> None:
        assert process.pid is not None
        self.name = plan.name
        self.pid = process.pid
        self.output = Path(plan.output)
        self._process = process
        self._trace = trace

    def wait_until_started(self) -> Self:
        wait_until(
            lambda: self.has_ended or self._trace.lines(kind="started", instance=self.name, pid=self.pid),
            lambda: self.said,
        )
        assert not self.has_ended, self.said
        return self

    @property
    def said(self) -> str:
        return f"{self.name} said:\n{self.output.read_text() if self.output.exists() else ''}"

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal, once it has ended."""
        return self._process.exitcode

    @property
    def has_ended(self) -> bool:
        return self.code is not None

    @property
    def is_frozen(self) -> bool:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def kill(self) -> None:
        self._send(signal.SIGKILL)
        self.wait()

    def freeze(self) -> None:
        """Returns once the process does nothing more."""
        self._send(signal.SIGSTOP)
        wait_until(lambda: self.is_frozen)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def ask_to_stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._send(number)

    def stop(self) -> int:
        self.ask_to_stop()
        return self.wait()

    def wait(self, patience: float = PATIENCE) -> int:
        """Its exit code, once it has ended."""
        wait_until(lambda: self.has_ended, lambda: f"the end of {self.said}", patience)
        assert self.code is not None
        return self.code

    def _send(self, number: signal.Signals) -> None:
        if not self.has_ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Fleet:
    """All processes of a test; those that still run at its end are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trace = Trace(folder / "trace", self._find_failure)
        self.instances: list[Instance] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for instance in self.instances:
            instance._send(signal.SIGKILL)
        for instance in self.instances:
            instance.wait()

    def start(self, name: str, **values: Any) -> Instance:
        """A process, which may not have come far yet."""
        plan = self._plan(name, values)
        process = _forks.Process(target=run, args=(plan.to_json(),), name=name, daemon=True)
        process.start()
        return self._add(Instance(plan, process, self.trace))

    def _find_failure(self) -> str:
        """What one said that ended by itself as none should."""
        return next((one.said for one in self.instances if (one.code or 0) > 0), "")

    def _plan(self, name: str, values: dict[str, Any]) -> Plan:
        output = self.folder / f"{name.replace(' ', '-')}.log"
        return Plan(name=name, trace=str(self.trace.path), output=str(output), **values)

    def _add(self, instance: Instance) -> Instance:
        self.instances.append(instance)
        return instance
