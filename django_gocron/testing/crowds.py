"""Crowds: processes whose threads all want the same, at the same time.

A process imports the class of the suite, makes an object of it, and does on that what its member function does with
each line it reads, in so many threads at once; it answers a line of JSON, a list with what each thread answered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Any

import django
from django.core.cache import caches
from django.db import connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from django_gocron.testing.contract import Contract

THREADS = 4

PROGRAM = f"from {__name__} import be_a_crowd; be_a_crowd()"


@contextmanager
def crowds(contract: type[Contract], member: Callable[..., Any], processes: int) -> Iterator[Crowds]:
    """So many processes of threads. ``member`` is a function at the top of a module: it takes the object of the suite,
    and answers what a thread calls with each order that the crowds are told."""
    command = [sys.executable, "-c", PROGRAM, contract.__module__, contract.__qualname__]
    command += [member.__module__, member.__qualname__]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        for _ in range(processes)
    ]
    try:
        yield Crowds(started)
    finally:
        for process in started:
            process.communicate()


class Crowds:
    def __init__(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        self._processes = processes
        for process in processes:
            assert _stream(process.stdout).readline() == "ready\n", "A process has not come up."

    def tell(self, order: object) -> list[Any]:
        """What all threads of all processes answer; they begin at about the same time."""
        for process in self._processes:
            print(json.dumps(order), file=process.stdin, flush=True)
        answers = (json.loads(_stream(process.stdout).readline()) for process in self._processes)
        return list(chain.from_iterable(answers))


@contextmanager
def own_connections() -> Iterator[None]:
    """For a thread: what it has opened to databases and caches is closed at its end."""
    try:
        yield
    finally:
        connections.close_all()
        caches.close_all()


def be_a_crowd() -> None:
    """What each process does."""
    suite_module, suite_name, member_module, member_name = sys.argv[1:]
    django.setup()
    contract = attrgetter(suite_name)(import_module(suite_module))()
    contract.prepare_process()
    make_member = attrgetter(member_name)(import_module(member_module))
    members = [make_member(contract) for _ in range(THREADS)]
    print("ready", flush=True)
    with ThreadPoolExecutor(THREADS) as pool:
        for line in sys.stdin:
            print(json.dumps(_do_together(pool, members, json.loads(line))), flush=True)


def _do_together(pool: ThreadPoolExecutor, members: Sequence[Callable[[Any], Any]], order: Any) -> list[Any]:
    together = threading.Barrier(len(members))

    def act(member: Callable[[Any], Any]) -> Any:
        with own_connections():
            together.wait()
            return member(order)

    return list(pool.map(act, members))


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
