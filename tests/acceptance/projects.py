"""Django projects in folders of their own, each with an SQLite file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance.processes import PATIENCE, Process

EXAMPLE = Path(__file__).parents[2] / "example_project"

OFFICE = {
    "manage.py": """
        import os, sys
        from django.core.management import execute_from_command_line
        os.environ["DJANGO_SETTINGS_MODULE"] = "office_settings"
        execute_from_command_line(sys.argv)
    """,
    "office_settings.py": """
        from pathlib import Path
        SECRET_KEY = "for tests alone"
        INSTALLED_APPS = [
            "django.contrib.auth", "django.contrib.contenttypes", "django_gocron", "office",
        ]
        DATABASES = {"default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": Path(__file__).parent / "office.sqlite3",
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }}
        TIME_ZONE = "UTC"
        USE_TZ = True
        GOCRON = {}
    """,
    "office/__init__.py": "",
    "office/jobs.py": "",
}
"""The smallest project there is: its jobs are what a test writes into ``office/jobs.py``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """``database`` is the name of its SQLite file."""

    folder: Path
    database: str
    processes: list[Process] = field(default_factory=list)

    def write(self, name: str, text: str) -> None:
        """Write a file; the indentation of its first line is taken from all."""
        lines = text.strip("\n").splitlines()
        margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line[margin:]}\n" for line in lines), encoding="utf-8")

    def append(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f"{path.read_text(encoding='utf-8')}\n{text}\n", encoding="utf-8")

    def manage(self, *arguments: str, code: int = 0) -> str:
        """Run a command to its end, expect an exit code, and return all that it wrote."""
        done = subprocess.run(
            self._command(arguments),
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, f"{arguments} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def start(self, *arguments: str) -> Process:
        """Start a command that runs until it is told to stop; it is killed after the test."""
        process = Process(self._command(arguments), folder=self.folder, environment=environment())
        self.processes.append(process)
        return process

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.folder / self.database, timeout=PATIENCE)) as connection:
            rows = connection.execute(query).fetchall()
            connection.commit()
        return rows

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        """Warnings are errors there, too."""
        return [sys.executable, "-W", "error", "manage.py", *arguments]


def environment() -> dict[str, str]:
    """Ours, without what tells our own tests where to work."""
    ours = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if name not in ours}


def make_office(folder: Path) -> Project:
    project = Project(folder=folder, database="office.sqlite3")
    for name, text in OFFICE.items():
        project.write(name, text)
    return project


def copy_office(migrated: Path, folder: Path) -> Project:
    """The project once more, with the tables of one that has them, and without jobs."""
    for file in migrated.glob("*.sqlite3*"):
        shutil.copy(file, folder)
    return make_office(folder)


def copy_example(folder: Path) -> Project:
    """The example project as a clean clone has it."""
    generated = shutil.ignore_patterns("*.sqlite3*", "__pycache__", "collected_static")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=generated)
    return Project(folder=folder, database="shop.sqlite3")
