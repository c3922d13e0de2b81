"""The newcomer's path: docs/tutorial/first-job.md, followed to the letter."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGINT

import pytest

from tests.acceptance.processes import PATIENCE, Process
from tests.acceptance.projects import environment

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-job.md"

COMMANDS = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```\{code-block\} python\n:caption: (\S+)\n\n(.*?)^```", re.MULTILINE | re.DOTALL)

ALREADY_DONE = ("python3 -m venv", ". venv/", "pip install")
"""What makes the environment: this one has been made."""

SERVERS = ("runscheduler", "runserver")


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """Does what a page says, in its order; what does not end by itself goes on beside."""

    folder: Path
    running: dict[str, Process] = field(default_factory=dict)

    def follow(self, page: str) -> None:
        blocks = [*COMMANDS.finditer(page), *FILE.finditer(page)]
        for block in sorted(blocks, key=lambda block: block.start()):
            if block.re is FILE:
                self.write(block[1], block[2])
            else:
                for line in block[1].splitlines():
                    self.type(line)

    def write(self, name: str, text: str) -> None:
        """A file that is there is added to, as the page says of the settings."""
        if name == "shell":
            self.run("manage.py", "shell", typing=text)
        else:
            with (self.folder / name).open("a", encoding="utf-8") as file:
                file.write(text)

    def type(self, line: str) -> None:
        if line.startswith(ALREADY_DONE):
            return
        program, *arguments = shlex.split(line)
        if program == "django-admin":
            self.run("-m", "django", *arguments)
        elif arguments[-1] in SERVERS:
            self.start(*arguments)
        else:
            assert program == "python"
            self.run(*arguments, *(["--no-input"] if arguments[-1] == "createsuperuser" else []))

    def run(self, *arguments: str, typing: str = "") -> None:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            input=typing,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}:\n{done.stdout}"

    def start(self, *arguments: str) -> None:
        options = ["0"] if arguments[-1] == "runserver" else []  # any port will do
        self.running[arguments[-1]] = Process(
            [sys.executable, *arguments, *options], folder=self.folder, environment=self._environment
        )

    @property
    def _environment(self) -> dict[str, str]:
        account = {"USERNAME": "anna", "EMAIL": "anna@shop.example", "PASSWORD": "secret"}
        return environment() | {f"DJANGO_SUPERUSER_{name}": value for name, value in account.items()}


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    newcomer = Newcomer(folder=tmp_path)
    yield newcomer
    for process in newcomer.running.values():
        process.end()


def test_who_follows_the_tutorial_sees_the_job_run(newcomer: Newcomer) -> None:
    newcomer.follow(PAGE.read_text(encoding="utf-8"))
    scheduler = newcomer.running["runscheduler"]
    scheduler.wait_for("Counting up to 100 orders.")
    scheduler.wait_for("Counting up to 2 orders.")
    scheduler.send(SIGINT)
    assert scheduler.wait() == 0
