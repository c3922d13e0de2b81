"""Which callables can be tasks: functions at the top of a module, which every process finds under the same name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Misuse:
    """Why something cannot be a task, and what to do."""

    code: str
    message: str


def find_misuse(target: Any) -> Misuse | None:
    """What is wrong with ``target`` as a task, or None."""
    if isinstance(target, staticmethod | classmethod) or inspect.ismethod(target):
        return _method(target.__func__.__qualname__)
    if inspect.isclass(target):
        return Misuse(code="not_a_function", message=f"{target.__qualname__} is a class. {ADVICE}")
    if not inspect.isfunction(target):
        return Misuse(code="not_a_function", message=f"{target!r} is not a Python function. {ADVICE}")
    return _find_misplacement(target.__qualname__) or _find_generator(target)


ADVICE = "Put @job on a function at the top of a module."


def _find_misplacement(name: str) -> Misuse | None:
    if name.endswith("<lambda>"):
        return Misuse(code="is_a_lambda", message=f"A lambda has no name to be found by. {ADVICE}")
    if "<locals>" in name:
        message = f"{name} is defined inside a function, where no other process finds it. {ADVICE}"
        return Misuse(code="is_nested", message=message)
    return _method(name) if "." in name else None


def _method(name: str) -> Misuse:
    return Misuse(code="is_a_method", message=f"{name} is a method. {ADVICE} It may call the method.")


def _find_generator(function: Any) -> Misuse | None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        message = (
            f"{function.__qualname__} is a generator: calling it runs nothing. Use return in place of yield."
        )
        return Misuse(code="is_a_generator", message=message)
    return None


def locate(target: Any) -> str:
    """``shop/jobs.py:12``: the file as its module names it, and the line; as much of it as there is."""
    function = inspect.unwrap(getattr(target, "__func__", target))
    module = getattr(function, "__module__", "") or ""
    code = getattr(function, "__code__", None)
    if code is None:
        return module or type(target).__name__
    parts = PurePath(code.co_filename).parts
    depth = len(module.split(".")) + (parts[-1:] == ("__init__.py",))
    return f"{'/'.join(parts[-depth:])}:{code.co_firstlineno}"
