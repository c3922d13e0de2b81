from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.projects import Project, copy_example, copy_office, make_office


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each of these tests starts several processes, and the first may have to wait for the demonstration, too."""
    item.add_marker(pytest.mark.timeout(400))


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    project: Project
    code: int
    output: str


@pytest.fixture(scope="session")
def migrated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = make_office(tmp_path_factory.mktemp("migrated"))
    project.manage("migrate", "--verbosity", "0")
    return project.folder


@pytest.fixture
def new_office(tmp_path: Path) -> Project:
    """The small project, before its first ``migrate``."""
    return make_office(tmp_path)


@pytest.fixture
def office(tmp_path: Path, migrated_folder: Path) -> Iterator[Project]:
    """The small project with its tables, and no jobs yet."""
    project = copy_office(migrated_folder, tmp_path)
    yield project
    _end_processes(project)


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demonstration]:
    """The example project after ``manage.py demo --for 30``."""
    project = copy_example(tmp_path_factory.mktemp("demonstration"))
    process = project.start("demo", "--for", "30")
    yield Demonstration(project=project, code=process.wait(), output=process.output)
    _end_processes(project)


@pytest.fixture
def used_shop(shop: Project, demonstration: Demonstration) -> Project:
    """A copy of the example project in which the demo has run before."""
    for file in demonstration.project.folder.glob("*.sqlite3*"):
        shutil.copy(file, shop.folder)
    return shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Project]:
    """A copy of the example project."""
    project = copy_example(tmp_path)
    yield project
    _end_processes(project)


def _end_processes(project: Project) -> None:
    for process in project.processes:
        process.end()
