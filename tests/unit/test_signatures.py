from __future__ import annotations

import datetime as dt
import inspect
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from django_gocron.exceptions import ArgumentsError
from django_gocron.signatures import check_fit, check_json


def plain(path, limit=10): ...


def strict(path, /, *, dry_run): ...


def greedy(first, *rest, **more): ...


def nothing(): ...


def fit(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    check_fit("shop.jobs.task", inspect.signature(function), args, kwargs)


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (plain, ["a"], {}),
        (plain, [], {"path": "a", "limit": 5}),
        (plain, ["a"], {"limit": 5}),
        (strict, ["a"], {"dry_run": True}),
        (greedy, [1, 2, 3], {"anything": 4}),
        (nothing, [], {}),
    ],
)
def test_arguments_that_python_would_take_are_taken(function: Callable[..., Any], args: Any, kwargs: Any):
    fit(function, *args, **kwargs)


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "field", "message"),
    [
        (plain, [], {}, "kwargs", "shop.jobs.task needs the argument 'path'."),
        (strict, [], {}, "kwargs", "shop.jobs.task needs the arguments 'path', 'dry_run'."),
        (
            plain,
            ["a", 1, 2],
            {},
            "args",
            "shop.jobs.task takes at most 2 arguments by position; 3 are given.",
        ),
        (nothing, [1], {}, "args", "shop.jobs.task takes no arguments by position; 1 are given."),
        (
            plain,
            ["a"],
            {"path": "b"},
            "kwargs",
            "shop.jobs.task gets the argument 'path' twice: by position and by name.",
        ),
        (
            strict,
            [],
            {"path": "a", "dry_run": 1},
            "kwargs",
            "shop.jobs.task takes the argument 'path' by position only.",
        ),
        (
            plain,
            ["a"],
            {"limt": 5},
            "kwargs",
            "shop.jobs.task takes no argument 'limt'. Did you mean 'limit'?",
        ),
        (
            plain,
            ["a"],
            {"dry_run": 5},
            "kwargs",
            "shop.jobs.task takes no argument 'dry_run'. It was removed or renamed in code; delete it or choose"
            " another task.",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(
    function: Callable[..., Any], args: Any, kwargs: Any, field: str, message: str
):
    with pytest.raises(ArgumentsError) as caught:
        fit(function, *args, **kwargs)
    assert (caught.value.message, caught.value.field) == (message, field)
    assert caught.value.code == "arguments_do_not_fit"


def test_every_misfit_that_python_refuses_is_refused():
    for function in (plain, strict, greedy, nothing):
        signature = inspect.signature(function)
        for args in ([], [1], [1, 2], [1, 2, 3]):
            for kwargs in (
                {},
                {"path": 1},
                {"limit": 1},
                {"dry_run": 1},
                {"first": 1},
                {"path": 1, "other": 2},
            ):
                assert _python_takes(signature, args, kwargs) == _we_take(signature, args, kwargs)


def _python_takes(signature: inspect.Signature, args: list[Any], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _we_take(signature: inspect.Signature, args: list[Any], kwargs: dict[str, Any]) -> bool:
    try:
        check_fit("task", signature, args, kwargs)
    except ArgumentsError:
        return False
    return True


def test_json_values_are_taken():
    check_json([None, True, 1, 1.5, "a", [1, [2]]], {"a": {"b": [None]}})


@pytest.mark.parametrize(
    ("args", "kwargs", "field", "start"),
    [
        ([dt.date(2026, 1, 1)], {}, "args", "args[0] is a date, which JSON does not have."),
        ([], {"id": uuid.UUID(int=1)}, "kwargs", "kwargs['id'] is a UUID, which JSON does not have."),
        ([], {"a": {"b": [1, {2}]}}, "kwargs", "kwargs['a']['b'][1] is a set, which JSON does not have."),
        ([float("nan")], {}, "args", "args[0] is nan, which JSON does not have."),
        ([], {"a": {1: 2}}, "kwargs", "kwargs['a'] has the key 1. Keys of JSON are texts: write '1'."),
        ([b"x"], {}, "args", "args[0] is a bytes, which JSON does not have."),
    ],
)
def test_what_would_not_come_back_from_json_is_refused_with_its_place(
    args: list[Any], kwargs: dict[str, Any], field: str, start: str
):
    with pytest.raises(ArgumentsError) as caught:
        check_json(args, kwargs)
    assert caught.value.message.startswith(start)
    assert (caught.value.code, caught.value.field) == ("arguments_not_json", field)
