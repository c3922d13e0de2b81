"""Whether arguments can be kept as JSON, and whether they fit a signature. No Django."""

from __future__ import annotations

import math
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from django_gocron.exceptions import ArgumentsError
from django_gocron.options import suggest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def check_json(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise ``ArgumentsError`` (``arguments_not_json``) where a value would not come back as it was."""
    for field, value in (("args", args), ("kwargs", kwargs)):
        try:
            fault = _find_fault(value, field)
        except RecursionError:
            fault = f"{field} is nested too deeply."
        if fault:
            raise ArgumentsError(fault, code="arguments_not_json", field=field)


def _find_fault(value: object, path: str) -> str:
    match value:
        case None | bool() | int() | str():
            return ""
        case float():
            return "" if math.isfinite(value) else f"{path} is {value}, which JSON does not have."
        case list() | tuple():
            return _first(_find_fault(item, f"{path}[{index}]") for index, item in enumerate(value))
        case dict():
            return _first(_find_fault_of_item(key, item, path) for key, item in value.items())
        case _:
            kind = type(value).__name__
            return (
                f"{path} is a {kind}, which JSON does not have. Pass text, a number, a list or a dictionary."
            )


def _find_fault_of_item(key: object, value: object, path: str) -> str:
    if not isinstance(key, str):
        return f"{path} has the key {key!r}. Keys of JSON are texts: write {str(key)!r}."
    return _find_fault(value, f"{path}[{key!r}]")


def _first(faults: Any) -> str:
    return next(filter(None, faults), "")


def check_fit(task: str, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise ``ArgumentsError`` (``arguments_do_not_fit``) where ``task(*args, **kwargs)`` could not be called."""
    parameters = signature.parameters
    positional = [name for name, parameter in parameters.items() if parameter.kind in POSITIONAL]
    _check_count(task, parameters, positional, args)
    given = positional[: len(args)]
    for name in kwargs:
        _check_name(task, parameters, given, name)
    missing = [
        name
        for name, parameter in parameters.items()
        if parameter.kind in POSITIONAL + NAMED
        and parameter.default is Parameter.empty
        and name not in given
        and name not in kwargs
    ]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        raise _misfit(f"{task} needs the argument{'s' if len(missing) > 1 else ''} {names}.", "kwargs")


def _check_count(
    task: str, parameters: Mapping[str, Parameter], positional: Sequence[str], args: Sequence[Any]
) -> None:
    takes_any = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters.values())
    if len(args) > len(positional) and not takes_any:
        most = f"at most {len(positional)}" if positional else "no"
        raise _misfit(f"{task} takes {most} arguments by position; {len(args)} are given.", "args")


def _check_name(task: str, parameters: Mapping[str, Parameter], given: Sequence[str], name: str) -> None:
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    parameter = parameters.get(name)
    if parameter is not None and parameter.kind in NAMED:
        if name in given:
            raise _misfit(f"{task} gets the argument '{name}' twice: by position and by name.", "kwargs")
        return
    if takes_any:
        return
    if parameter is not None and parameter.kind is Parameter.POSITIONAL_ONLY:
        raise _misfit(f"{task} takes the argument '{name}' by position only.", "kwargs")
    named = [key for key, other in parameters.items() if other.kind in NAMED]
    advice = suggest(name, named) or " It was removed or renamed in code; delete it or choose another task."
    raise _misfit(f"{task} takes no argument '{name}'.{advice}", "kwargs")


def _misfit(message: str, field: str) -> ArgumentsError:
    return ArgumentsError(message, code="arguments_do_not_fit", field=field)
