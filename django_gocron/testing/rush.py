"""Many who want the same locks at the same time, in the threads of several processes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from importlib import import_module
from itertools import chain
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Any

import django
from django.core.cache import caches
from django.db import connections

from django_gocron.lockers.base import Lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

THREADS, PROCESSES = 4, 2

BATCH = 50
"""Locks that one call asks for."""

TTL = timedelta(seconds=60)


def rush(contract: type[Any], keys: Sequence[str]) -> list[str]:
    """Let everyone, with lockers that ``contract`` makes, try to get each lock once. Answers what they got, a key as
    often as it was got."""
    with ExitStack() as stack:
        crowds = [stack.enter_context(_crowd(contract)) for _ in range(PROCESSES)]
        for crowd in crowds:
            assert _stream(crowd.stdout).readline() == "ready\n", "A process of lockers has not come up."
        for crowd in crowds:
            print(json.dumps(keys), file=crowd.stdin, flush=True)
        return list(chain.from_iterable(json.loads(_stream(crowd.stdout).readline()) for crowd in crowds))


@contextmanager
def own_connections() -> Iterator[None]:
    """For a thread: what it has opened to databases and caches is closed at its end."""
    try:
        yield
    finally:
        connections.close_all()
        caches.close_all()


@contextmanager
def _crowd(contract: type[Any]) -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-c",
        f"from {__name__} import be_a_crowd; be_a_crowd()",
        contract.__module__,
        contract.__qualname__,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        yield process
        _stream(process.stdin).close()


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def be_a_crowd() -> None:
    """What each process does: say ``ready``, read the keys, rush, and say which locks its threads got."""
    module, name = sys.argv[1:]
    django.setup()
    contract = attrgetter(name)(import_module(module))()
    contract.prepare_process()
    print("ready", flush=True)
    if line := sys.stdin.readline():
        print(json.dumps(_get_in_threads(contract, json.loads(line))), flush=True)


def _get_in_threads(contract: Any, keys: list[str]) -> list[str]:
    together = threading.Barrier(THREADS)

    def get(number: int) -> list[str]:
        with own_connections():
            together.wait()
            return _get(contract, keys, random.Random(f"{os.getpid()} {number}"))

    with ThreadPoolExecutor(THREADS) as pool:
        return list(chain.from_iterable(pool.map(get, range(THREADS))))


def _get(contract: Any, keys: list[str], order: random.Random) -> list[str]:
    """In an order of one's own."""
    locker, mixed = contract.make_locker(TTL), order.sample(keys, len(keys))
    locks = [Lock(key=key, holder="crowd", token=uuid.uuid4().hex) for key in mixed]
    batches = [locks[start : start + BATCH] for start in range(0, len(locks), BATCH)]
    return [
        lock.key
        for batch in batches
        for lock, answer in zip(batch, locker.acquire_many(batch), strict=True)
        if answer is None
    ]
