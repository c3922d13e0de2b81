"""``@job``, and the registry of what it has found: tasks, and the jobs that code declares.

The registry is memory of one process: nothing here reads the settings or the database, and importing a module that
uses ``@job`` needs neither. Registration is done at import, by whichever thread imports; one lock guards it.

**The key of a declared job** is its identity from one release to the next: ``<app_label>.<function>``, whatever its
name. Where a function has several declarations, each has a ``name=`` and ``<app_label>.<function>:<slug of the name>``.
"""

from __future__ import annotations

import inspect
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar, Unpack, overload

from asgiref.sync import iscoroutinefunction

from django_gocron.callables import find_misuse, locate
from django_gocron.context import RunContext
from django_gocron.exceptions import ArgumentsError, DeclarationError, UnknownTaskError
from django_gocron.listeners import Kind, Listener, Listeners, read_listeners
from django_gocron.options import JobOptions, read_aliases, read_options, read_schedule, suggest
from django_gocron.schedules import Schedule
from django_gocron.signatures import check_fit, check_json

COMMAND_PREFIX = "command."
"""Before the name of a management command, its task's name."""

NO_LISTENERS: Mapping[Kind, Listener] = MappingProxyType({})

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A callable that jobs can run, under a name that is stable across processes. ``doc`` is one line, or "". One that
    ``takes_run`` is called with its ``RunContext`` before its arguments, and ``signature`` is without that."""

    name: str
    function: Callable[..., Any]
    is_async: bool
    signature: inspect.Signature
    takes_run: bool = False
    doc: str = ""
    where: str = ""

    def check_arguments(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Raise ``ArgumentsError`` (``arguments_not_json``, ``arguments_do_not_fit``), with ``args`` or ``kwargs``
        as its field, where the task could not be called with these."""
        check_json(args, kwargs)
        check_fit(self.name, self.signature, args, kwargs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A job as code declares it. ``aliases`` are keys it had earlier; ``where`` is ``file:line``."""

    task: Task
    name: str
    schedule: Schedule | None
    options: Mapping[str, Any]
    aliases: tuple[str, ...] = ()
    where: str
    has_own_name: bool
    is_one_of_several: bool = False

    @property
    def key(self) -> str:
        """The identity of the job. Needs Django's apps to be loaded."""
        plain, named = self._keys
        return named if self.is_one_of_several else plain

    @property
    def other_key(self) -> str:
        """The key it would have if its function had one declaration instead of several, or the reverse; or ""."""
        if not self.has_own_name:
            return ""
        plain, named = self._keys
        return plain if self.is_one_of_several else named

    @property
    def _keys(self) -> tuple[str, str]:
        module, _, function = self.task.name.rpartition(".")
        plain = f"{find_app_label(module)}.{function}"
        return plain, f"{plain}:{_slug(self.name)}"


def find_app_label(module: str) -> str:
    """The label of the installed app that the module is part of, else its top package."""
    from django.apps import apps

    app = apps.get_containing_app_config(module)
    return app.label if app else module.partition(".")[0]


@dataclass(slots=True)
class _Registry:
    tasks: dict[str, Task] = field(default_factory=dict)
    declared: list[Declaration] = field(default_factory=list)
    executions: dict[str, object] = field(default_factory=dict)
    listeners: dict[str, dict[Kind, Listener]] = field(default_factory=dict)
    keys: tuple[str, ...] | None = None


_lock = threading.RLock()
_current = _Registry()


@overload
def job(function: Function, /) -> Function: ...


@overload
def job(
    schedule: Schedule | str | None = None,
    /,
    *,
    aliases: tuple[str, ...] | list[str] = (),
    listeners: Listeners = ...,
    **options: Unpack[JobOptions],
) -> Callable[[Function], Function]: ...


def job(schedule: Any = None, /, *, aliases: Any = (), listeners: Any = NO_LISTENERS, **options: Any) -> Any:
    """Register a function as a task and, with a schedule or an option, declare a job that runs it.

    ``schedule`` is a schedule or a cron expression; a job without one runs by hand only. The options are the fields
    of a job; durations may be numbers of seconds. ``aliases`` are keys that the job had before the function was
    renamed or moved. ``listeners`` belong to the task, and so to every job that runs it, staff's too. The function
    itself is returned. Raises ``DeclarationError`` or ``ScheduleError``.
    """
    if callable(schedule) or isinstance(schedule, staticmethod | classmethod):
        register(schedule)
        return schedule

    def decorate(function: Function) -> Function:
        with _lock:
            task = register(function)
            _listen(task, listeners)
            if schedule is not None or aliases or options:
                _declare(task, schedule, aliases, options)
        return function

    return decorate


def register(function: Callable[..., Any]) -> Task:
    """The task that a function is, made at the first call. Raises ``DeclarationError``."""
    where = locate(function)
    if misuse := find_misuse(function):
        raise DeclarationError(f"{where}: {misuse.message}", code=misuse.code)
    name = f"{function.__module__}.{function.__qualname__}"
    with _lock:
        known = _current.tasks.get(name)
        if known is not None and known.function is function:
            return known
        execution = inspect.unwrap(function).__globals__.get("__spec__")
        if known is not None:
            _forget(known, execution, where)
        _current.executions[name] = execution
        return add_task(_read_task(name, function, where))


def _read_task(name: str, function: Callable[..., Any], where: str) -> Task:
    signature = inspect.signature(function)
    takes_run = _takes_run(signature)
    if takes_run:
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    return Task(
        name=name,
        function=function,
        is_async=iscoroutinefunction(function),
        signature=signature,
        takes_run=takes_run,
        doc=(inspect.getdoc(function) or "").partition("\n")[0],
        where=where,
    )


def _takes_run(signature: inspect.Signature) -> bool:
    """Whether the first parameter stands by position and is annotated as ``RunContext``, as a class or in text."""
    first = next(iter(signature.parameters.values()), None)
    if first is None or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return False
    named = first.annotation.rpartition(".")[2] if isinstance(first.annotation, str) else first.annotation
    return named in ("RunContext", RunContext)


def _forget(known: Task, execution: object, where: str) -> None:
    """Drop a task whose module is executed again. Within one execution (an import makes a new spec), a second
    function of the same name is a mistake."""
    if execution is not None and _current.executions.get(known.name) is execution:
        message = (
            f"{where}: {known.name} is registered already, by another function ({known.where}). Rename one of the"
            " two; where a decorator stands between two @job lines, put the @job lines together above it."
        )
        raise DeclarationError(message, code="task_name_taken")
    _current.declared[:] = [one for one in _current.declared if one.task.name != known.name]
    _current.listeners.pop(known.name, None)
    _current.keys = None


def _listen(task: Task, given: Any) -> None:
    """Add listeners to a task. Two ``@job`` lines of a function may share one, but not name different ones."""
    known = _current.listeners.setdefault(task.name, {})
    for kind, listener in read_listeners(given, DeclarationError, task.where).items():
        if known.setdefault(kind, listener) is not listener:
            message = (
                f"{task.where}: {task.name} has another listener {kind} already. Listeners belong to the task:"
                " name one, and let it look at the run's job_name."
            )
            raise DeclarationError(message, code="listener_taken", field="listeners")


def _declare(task: Task, schedule: Any, aliases: Any, given: dict[str, Any]) -> None:
    try:
        options = read_options(given)
        own_name = options.pop("name", None)
        declaration = Declaration(
            task=task,
            name=own_name or in_words(task.function.__name__),
            schedule=read_schedule(schedule),
            options=options,
            aliases=read_aliases(aliases),
            where=task.where,
            has_own_name=bool(own_name),
        )
        task.check_arguments(options.get("args", []), options.get("kwargs", {}))
    except (ArgumentsError, DeclarationError) as error:
        raise DeclarationError(f"{task.where}: {error.message}", code=error.code, field=error.field) from None
    _refuse_second(declaration)
    _current.declared.append(declaration)
    _current.keys = None


def _refuse_second(declaration: Declaration) -> None:
    others = [one for one in _current.declared if one.task is declaration.task]
    if others and not all(one.has_own_name for one in (*others, declaration)):
        raise _not_distinct(declaration, "has several declarations", "name_missing")
    if _slug(declaration.name) in {_slug(one.name) for one in others}:
        raise _not_distinct(declaration, f"is declared twice as {declaration.name!r}", "key_taken")


def _not_distinct(declaration: Declaration, fault: str, code: str) -> DeclarationError:
    advice = "Give each @job line of a function its own name=."
    message = f"{declaration.where}: {declaration.task.name} {fault}. {advice}"
    return DeclarationError(message, code=code, field="name")


def in_words(name: str) -> str:
    """``sync_orders`` -> "Sync orders"."""
    words = name.replace("_", " ").split()
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]]) if words else name


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-") or name


def add_task(task: Task) -> Task:
    """Put a task that is not a decorated function into the registry; one of the same name is replaced."""
    with _lock:
        _current.tasks[task.name] = task
    return task


def remove_tasks(kind: type[Task]) -> None:
    """Take the tasks of a kind out again."""
    with _lock:
        for name in [name for name, task in _current.tasks.items() if isinstance(task, kind)]:
            del _current.tasks[name]


def find_task(name: str) -> Task | None:
    """The task of that name, or None where this process has none."""
    return _current.tasks.get(name)


def get_task(name: str) -> Task:
    """The task of that name. Raises ``UnknownTaskError`` (``task_unknown``)."""
    task = find_task(name)
    if task is None:
        place = (
            "in GOCRON['COMMANDS']" if name.startswith(COMMAND_PREFIX) else "under @job, in its app's jobs.py"
        )
        advice = suggest(name, _current.tasks.copy()) or f" Put it {place}."
        raise UnknownTaskError(f"No task {name!r} is registered.{advice}", code="task_unknown", field="task")
    return task


def listeners_of(task: str) -> Mapping[Kind, Listener]:
    """The listeners of the task of that name."""
    return _current.listeners.get(task, NO_LISTENERS)


def tasks() -> tuple[Task, ...]:
    """All tasks, by name."""
    with _lock:
        return tuple(task for _name, task in sorted(_current.tasks.items()))


def declarations() -> tuple[Declaration, ...]:
    """All declared jobs, by task and name."""
    with _lock:
        several = Counter(one.task.name for one in _current.declared)
        known = [replace(one, is_one_of_several=several[one.task.name] > 1) for one in _current.declared]
    return tuple(sorted(known, key=lambda one: (one.task.name, one.name)))


def declared_keys() -> tuple[str, ...]:
    """The keys of all declared jobs; kept until something is declared, since every claim asks for them."""
    with _lock:
        if _current.keys is None:
            _current.keys = tuple(declaration.key for declaration in declarations())
        return _current.keys


def autodiscover() -> None:
    """Import ``jobs.py`` of every installed app that has one."""
    from django.utils.module_loading import autodiscover_modules

    autodiscover_modules("jobs")


@contextmanager
def isolated(*, inherit: bool = False) -> Iterator[None]:
    """For tests: an empty registry (with ``inherit``: a copy) until the end of the block, for all threads."""
    global _current
    before = _current
    _current = _Registry()
    if inherit:
        listeners = {name: dict(known) for name, known in before.listeners.items()}
        _current = _Registry(dict(before.tasks), list(before.declared), dict(before.executions), listeners)
    try:
        yield
    finally:
        _current = before
