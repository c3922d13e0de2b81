from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError

from django_gocron import registry
from django_gocron.exceptions import ArgumentsError, UnknownTaskError


@pytest.fixture(autouse=True)
def _commands(settings: Any) -> Iterator[None]:
    with registry.isolated():
        settings.GOCRON = {"COMMANDS": ["greet", "clearsessions"]}
        yield


def run(*args: Any, **kwargs: Any) -> Any:
    return registry.get_task("command.greet").function(*args, **kwargs)


def check(args: list[Any], kwargs: dict[str, Any]) -> None:
    registry.get_task("command.greet").check_arguments(args, kwargs)


def printed(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [
        (record.levelname, record.message)
        for record in caplog.records
        if record.name == "django_gocron.commands"
    ]


def test_each_listed_command_is_a_task():
    assert [task.name for task in registry.tasks()] == ["command.clearsessions", "command.greet"]


def test_a_command_that_is_not_listed_is_no_task():
    with pytest.raises(UnknownTaskError):
        registry.get_task("command.flush")


def test_a_changed_setting_changes_the_tasks(settings: Any):
    settings.GOCRON = {"COMMANDS": ["greet"]}
    assert [task.name for task in registry.tasks()] == ["command.greet"]


def test_an_unknown_command_is_left_out_and_the_others_stay(settings: Any):
    settings.GOCRON = {"COMMANDS": ["no_such", "greet"]}
    assert [task.name for task in registry.tasks()] == ["command.greet"]


def test_a_setting_that_cannot_be_read_registers_nothing(settings: Any):
    settings.GOCRON = {"COMMANDS": "greet"}
    assert registry.tasks() == ()


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (["Ada"], {}),
        (["Ada", "--times", "3"], {}),
        (["Ada"], {"times": 3, "mood": "grave", "loud": True, "polite": False, "to": [1, 2]}),
        (["Ada"], {"times": "3"}),
        (["Ada"], {"mood": "glad", "verbosity": 2}),
        (["Ada"], {"end": None}),
    ],
)
def test_arguments_that_the_parser_takes_are_taken(args: list[Any], kwargs: dict[str, Any]):
    check(args, kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs", "field", "words"),
    [
        ([], {}, "args", "the following arguments are required: name"),
        (["Ada", "--tims=3"], {}, "args", "unrecognized arguments: --tims=3"),
        (["Ada", "Grace"], {}, "args", "unrecognized arguments: Grace"),
        (["Ada", "--times", "many"], {}, "args", "argument --times: invalid int value: 'many'"),
        (["Ada"], {"colour": "red"}, "kwargs", r"Unknown option\(s\) for greet command: colour"),
        (["Ada"], {"times": "many"}, "kwargs", "argument --times: invalid int value: 'many'"),
        (["Ada"], {"times": 1.5}, "kwargs", "argument --times: invalid int value: '1.5'"),
        (["Ada"], {"to": [1, "x"]}, "kwargs", "argument --to: invalid int value: 'x'"),
        (["Ada"], {"mood": "sour"}, "kwargs", "argument --mood: invalid choice: 'sour'"),
        (["Ada"], {"verbosity": 9}, "kwargs", "invalid choice: 9"),
        (["Ada"], {"loud": "no"}, "kwargs", "argument --loud: must be true or false, not 'no'"),
        (["Ada"], {"polite": 0}, "kwargs", "must be true or false, not 0"),
        ([], {"name": "Ada"}, "kwargs", "give 'name' by position"),
        (["Ada"], {"stdout": "x"}, "kwargs", "'stdout' cannot be set by a job"),
        (["--help"], {}, "args", "these arguments print help and run nothing"),
    ],
)
def test_arguments_that_the_parser_refuses_are_refused_in_its_words(
    args: list[Any], kwargs: dict[str, Any], field: str, words: str
):
    with pytest.raises(ArgumentsError, match=f"^greet: .*{words}") as caught:
        check(args, kwargs)
    assert (caught.value.code, caught.value.field) == ("arguments_do_not_fit", field)


def test_arguments_that_are_not_json_are_refused():
    with pytest.raises(ArgumentsError) as caught:
        check(["Ada"], {"times": object()})
    assert caught.value.code == "arguments_not_json"


def test_checking_does_not_run_the_command(caplog: pytest.LogCaptureFixture):
    check(["Ada"], {"end": "error"})
    assert printed(caplog) == []


def test_what_a_command_prints_is_logged_line_by_line(caplog: pytest.LogCaptureFixture):
    assert run("Ada") is None
    assert printed(caplog) == [
        ("INFO", "Hello Ada 2"),
        ("WARNING", "Mind the gap"),
        ("INFO", "first"),
        ("INFO", "second"),
    ]


def test_output_is_kept_however_quiet_the_log_of_the_project_is(caplog: pytest.LogCaptureFixture):
    caplog.set_level("CRITICAL")
    caplog.handler.setLevel("NOTSET")
    run("Ada")
    assert ("INFO", "Hello Ada 2") in printed(caplog)


def test_an_option_given_as_text_is_read_as_on_the_command_line(caplog: pytest.LogCaptureFixture):
    run("Ada", times="4")
    assert printed(caplog)[0] == ("INFO", "Hello Ada 5")


def test_output_is_plain_text_unless_colour_is_asked_for(caplog: pytest.LogCaptureFixture):
    run("Ada", force_color=True)
    assert "\x1b[" in printed(caplog)[0][1]


def test_an_exit_with_0_is_a_success():
    assert run("Ada", end="exit-0") is None


def test_output_before_an_exit_is_kept(caplog: pytest.LogCaptureFixture):
    run("Ada", end="exit-0")
    assert ("INFO", "Hello Ada 2") in printed(caplog)


def test_an_exit_with_another_code_is_a_failure_that_names_it():
    with pytest.raises(CommandError, match="greet exited with code 3") as caught:
        run("Ada", end="exit-3")
    assert caught.value.returncode == 3


def test_an_exit_with_a_message_is_a_failure_that_quotes_it():
    with pytest.raises(CommandError, match="greet exited: out of paper"):
        run("Ada", end="exit-text")


def test_a_commands_own_error_passes_through():
    with pytest.raises(CommandError, match="No paper"):
        run("Ada", end="error")
