"""Management commands as tasks: those that ``GOCRON["COMMANDS"]`` lists, named ``command.<name>``.

The list is the permission: no other command can be run by a job. A command's module is imported when its arguments
are checked or when it runs, not before. What it prints goes line by line to the logger ``django_gocron.commands``.
"""

from __future__ import annotations

import argparse
import inspect
import io
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from django.core.management import CommandError, call_command, get_commands, load_command_class

from django_gocron import registry
from django_gocron.conf import get_settings
from django_gocron.exceptions import ArgumentsError, ConfigurationError
from django_gocron.signatures import check_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from django.core.management import BaseCommand

STREAMS = ("stdout", "stderr")
"""What every command takes besides its options; a job cannot name it."""

LONGEST_LINE = 8192
"""Characters after which a line without an end is logged all the same."""

logger = logging.getLogger("django_gocron.commands")
if logger.level == logging.NOTSET:
    logger.setLevel(logging.INFO)  # what a command prints is its output, however quiet the project's log is


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTask(registry.Task):
    """A management command. Its arguments are those of ``call_command(name, *args, **kwargs)``."""

    command: str

    def check_arguments(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Ask the command's parser, without running the command."""
        check_json(args, kwargs)
        parse(self.command, args, kwargs)


def register() -> None:
    """Bring the registry in line with the settings. Names that are no commands are left to the system check; so is a
    setting that cannot be read."""
    registry.remove_tasks(CommandTask)
    try:
        names = get_settings().commands
    except ConfigurationError:
        return
    for name in set(names) - set(find_unknown()):
        registry.add_task(_make_task(name))


def find_unknown() -> list[str]:
    """The names in ``GOCRON["COMMANDS"]`` that are no commands of this project."""
    names = get_settings().commands
    return [name for name in names if name not in get_commands()] if names else []


def _make_task(name: str) -> CommandTask:
    return CommandTask(
        name=registry.COMMAND_PREFIX + name,
        function=partial(run, name),
        is_async=False,
        signature=inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD),
            ]
        ),
        doc=f"manage.py {name}",
        where="GOCRON['COMMANDS']",
        command=name,
    )


def run(name: str, /, *args: Any, **options: Any) -> None:
    """Run the command to its end. An exit with 0 is a success; with anything else, ``CommandError``."""
    out, err = _Lines(logging.INFO), _Lines(logging.WARNING)
    command = _load(name)
    options = _read_options(command, name, options)
    if "force_color" not in options:
        options["no_color"] = True
    try:
        call_command(command, *args, **{**options, "stdout": out, "stderr": err})
    except SystemExit as stop:
        _judge(name, stop.code)
    finally:
        out.finish()
        err.finish()


def _judge(name: str, code: object) -> None:
    if isinstance(code, int) and code:
        raise CommandError(f"{name} exited with code {code}.", returncode=code) from None
    if code:
        raise CommandError(f"{name} exited: {code}") from None


def parse(name: str, args: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raise ``ArgumentsError`` (``arguments_do_not_fit``) with the words of the command's parser."""
    try:
        command = _load(name)
        command.execute = _ran_nothing  # type: ignore[method-assign]
        call_command(command, *args, **_read_options(command, name, options))
    except (CommandError, TypeError) as error:
        field = "kwargs" if isinstance(error, TypeError) else "args"
        raise _misfit(name, str(error).removeprefix("Error: "), field) from None
    except argparse.ArgumentError as error:
        raise _misfit(name, str(error), "kwargs") from None
    except SystemExit:
        raise _misfit(name, "these arguments print help and run nothing", "args") from None
    except ImportError as error:
        raise _misfit(name, f"the command cannot be imported: {error}", "") from None


def _ran_nothing(*_args: Any, **_options: Any) -> str:
    return ""


def _misfit(name: str, message: str, field: str) -> ArgumentsError:
    return ArgumentsError(f"{name}: {message}", code="arguments_do_not_fit", field=field)


def _load(name: str) -> BaseCommand:
    return load_command_class(get_commands()[name], name)


def _read_options(command: BaseCommand, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the command line would read them: types applied, choices checked. Unknown ones pass: Django
    refuses them. Raises ``argparse.ArgumentError``, or ``TypeError``."""
    parser = command.create_parser("", name)
    return {key: _read_option(parser, key, value) for key, value in options.items()}


def _read_option(parser: argparse.ArgumentParser, key: str, value: Any) -> Any:
    if key in STREAMS:
        raise TypeError(f"{key!r} cannot be set by a job")
    action = next((action for action in parser._actions if key in _names(action)), None)
    if action is None or value is None:
        return value
    if action.required and not action.option_strings:
        raise TypeError(f"give {key!r} by position")
    if action.nargs == 0:
        return _read_flag(action, value)
    if isinstance(value, list):
        return [_read_value(parser, action, item) for item in value]
    return _read_value(parser, action, value)


def _names(action: argparse.Action) -> set[str]:
    """What ``call_command`` lets an argument be called."""
    option = min(action.option_strings, default="")
    return {action.dest, option.lstrip("-").replace("-", "_")}


def _read_flag(action: argparse.Action, value: Any) -> Any:
    is_switch = isinstance(action.const, bool) or isinstance(action, argparse.BooleanOptionalAction)
    if is_switch and not isinstance(value, bool):
        raise argparse.ArgumentError(action, f"must be true or false, not {value!r}")
    return value


def _read_value(parser: argparse.ArgumentParser, action: argparse.Action, value: Any) -> Any:
    if action.type is not None:
        value = parser._get_value(action, str(value))
    parser._check_value(action, value)
    return value


class _Lines(io.TextIOBase):
    """A stream that logs each line written to it."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level
        self._rest = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        if len(self._rest) > LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            logger.log(self._level, "%s", line.rstrip("\r"))
        return len(text)

    def finish(self) -> None:
        """Log what came after the last line break."""
        if self._rest:
            self.write("\n")
