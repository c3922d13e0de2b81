from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from django_gocron import Cron, Daily, Every, job, registry
from django_gocron.exceptions import ArgumentsError, DeclarationError, UnknownTaskError


@pytest.fixture(autouse=True)
def _empty_registry() -> Iterator[None]:
    with registry.isolated():
        yield


def sync_orders(limit: int = 100) -> None:
    """Fetch new orders.

    From the feed.
    """


async def send_digest(region: str) -> None: ...


def _private() -> None: ...


def generator():
    yield


async def async_generator():
    yield


class Shop:
    def method(self) -> None: ...

    @staticmethod
    def static() -> None: ...

    @classmethod
    def of_class(cls) -> None: ...


def _nested() -> Any:
    def inner() -> None: ...

    return inner


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


ME = __name__


def key(function: str) -> str:
    return f"tests.{function}"


def test_returns_the_function_itself():
    assert job(sync_orders) is sync_orders
    assert job()(sync_orders) is sync_orders
    assert job(Every(minutes=5), name="Orders")(sync_orders) is sync_orders


def test_a_task_is_known_by_module_and_function():
    job(sync_orders)
    task = registry.get_task(f"{ME}.sync_orders")
    assert (task.function, task.is_async, task.doc) == (sync_orders, False, "Fetch new orders.")
    assert list(task.signature.parameters) == ["limit"]
    assert task.where.startswith("tests/unit/test_registry.py:")


def test_a_coroutine_function_is_an_async_task():
    job(send_digest)
    assert registry.get_task(f"{ME}.send_digest").is_async


def test_without_schedule_and_options_no_job_is_declared():
    job(sync_orders)
    job()(send_digest)
    assert registry.declarations() == ()


def test_a_schedule_declares_a_job_named_after_the_function():
    job(Every(minutes=5))(sync_orders)
    (declared,) = registry.declarations()
    assert (declared.name, declared.schedule) == ("Sync orders", Every(minutes=5))
    assert declared.key == key("sync_orders")


def test_options_without_a_schedule_declare_a_job_that_runs_by_hand():
    job(tags=["sync"])(sync_orders)
    (declared,) = registry.declarations()
    assert (declared.schedule, declared.options) == (None, {"tags": ["sync"]})


def test_a_text_is_a_cron_expression():
    job("*/15 * * * *")(sync_orders)
    assert registry.declarations()[0].schedule == Cron("*/15 * * * *")


def test_leading_underscores_are_not_part_of_the_name():
    job(Every(minutes=5))(_private)
    assert registry.declarations()[0].name == "Private"


def test_the_key_of_a_single_declaration_does_not_depend_on_its_name():
    job(Every(minutes=5), name="Fetch the orders")(sync_orders)
    assert registry.declarations()[0].key == key("sync_orders")


def test_declarations_of_one_function_stack_under_keys_of_their_names():
    for region in ("eu", "us"):
        job(Daily(at="09:00"), name=f"Digest {region.upper()}", kwargs={"region": region})(send_digest)
    assert [declared.key for declared in registry.declarations()] == [
        key("send_digest:digest-eu"),
        key("send_digest:digest-us"),
    ]


def test_a_second_declaration_without_a_name_of_its_own_is_refused():
    job(Every(minutes=5), name="Orders")(sync_orders)
    with pytest.raises(DeclarationError, match="Give each @job line of a function its own name=") as caught:
        job(Every(minutes=7))(sync_orders)
    assert caught.value.code == "name_missing"


def test_the_declared_keys_follow_each_new_declaration():
    assert registry.declared_keys() == ()
    job(Daily(at="09:00"), name="Digest EU", kwargs={"region": "eu"})(send_digest)
    assert registry.declared_keys() == (key("send_digest"),)
    job(Daily(at="09:00"), name="Digest US", kwargs={"region": "us"})(send_digest)
    assert registry.declared_keys() == (key("send_digest:digest-eu"), key("send_digest:digest-us"))


def test_two_declarations_whose_names_make_one_key_are_refused():
    job(Every(minutes=5), name="Orders EU")(sync_orders)
    with pytest.raises(DeclarationError, match="declared twice as 'orders-eu'") as caught:
        job(Every(minutes=7), name="orders-eu")(sync_orders)
    assert caught.value.code == "key_taken"


def test_a_refused_declaration_leaves_nothing_behind():
    job(Every(minutes=5), name="Orders")(sync_orders)
    with pytest.raises(DeclarationError):
        job(Every(minutes=7))(sync_orders)
    assert [declared.name for declared in registry.declarations()] == ["Orders"]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (Shop.method, "is_a_method"),
        (Shop().method, "is_a_method"),
        (Shop.__dict__["static"], "is_a_method"),
        (Shop.__dict__["of_class"], "is_a_method"),
        (lambda: None, "is_a_lambda"),
        (_nested(), "is_nested"),
        (Shop, "not_a_function"),
        (len, "not_a_function"),
        (functools.partial(sync_orders, 5), "not_a_function"),
        (generator, "is_a_generator"),
        (async_generator, "is_a_generator"),
    ],
)
@pytest.mark.parametrize("decorator", [job, job(Every(minutes=5))], ids=["bare", "with schedule"])
def test_what_cannot_be_found_by_name_is_refused(decorator: Any, target: Any, code: str):
    with pytest.raises(DeclarationError) as caught:
        decorator(target)
    assert caught.value.code == code
    assert registry.tasks() == ()


def test_a_refusal_says_where():
    with pytest.raises(DeclarationError, match=r"^tests/unit/test_registry.py:\d+: Shop.method is a method"):
        job(Shop.method)


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"kwargs": {"lmit": 5}}, "arguments_do_not_fit", "kwargs"),
        ({"args": [1, 2]}, "arguments_do_not_fit", "args"),
        ({"kwargs": {"limit": {1, 2}}}, "arguments_not_json", "kwargs"),
        ({"timout": 5}, "unknown_option", "timout"),
        ({"timeout": "5m"}, "bad_option", "timeout"),
        ({"aliases": "shop.old"}, "bad_option", "aliases"),
        ({"aliases": [5]}, "bad_option", "aliases"),
    ],
)
def test_options_and_arguments_that_cannot_be_right_are_refused_with_the_place(
    options: dict[str, Any], code: str, field: str
):
    with pytest.raises(DeclarationError, match=r"^tests/unit/test_registry.py:\d+: ") as caught:
        job(Every(minutes=5), **options)(sync_orders)
    assert (caught.value.code, caught.value.field) == (code, field)


def test_a_scheduled_function_with_a_required_argument_needs_it():
    with pytest.raises(DeclarationError, match="send_digest needs the argument 'region'"):
        job(Every(minutes=5))(send_digest)


@pytest.mark.parametrize("schedule", [5, ["* * * * *"], {"minutes": 5}])
def test_a_first_argument_that_is_no_schedule_is_refused(schedule: Any):
    with pytest.raises(DeclarationError, match="is a schedule or a cron expression") as caught:
        job(schedule)(sync_orders)
    assert caught.value.field == "schedule"


def test_another_function_of_the_same_name_is_refused():
    job(sync_orders)
    with pytest.raises(DeclarationError, match="registered already, by another function") as caught:
        job(decorated(sync_orders))
    assert caught.value.code == "task_name_taken"


def test_an_unknown_task_is_refused_with_a_suggestion():
    job(sync_orders)
    with pytest.raises(UnknownTaskError, match=f"Did you mean '{ME}.sync_orders'") as caught:
        registry.get_task(f"{ME}.sync_order")
    assert (caught.value.code, caught.value.field) == ("task_unknown", "task")


@pytest.mark.parametrize(
    ("name", "advice"),
    [("shop.jobs.x", "under @job, in its app's jobs.py"), ("command.flush", "in GOCRON['COMMANDS']")],
)
def test_an_unknown_task_without_a_likeness_is_refused_with_the_place_to_put_it(name: str, advice: str):
    with pytest.raises(UnknownTaskError) as caught:
        registry.get_task(name)
    assert caught.value.message == f"No task '{name}' is registered. Put it {advice}."


def test_finding_an_unknown_task_answers_none():
    assert registry.find_task("shop.jobs.nothing") is None


def test_a_task_checks_arguments_for_json_before_their_fit():
    job(sync_orders)
    with pytest.raises(ArgumentsError) as caught:
        registry.get_task(f"{ME}.sync_orders").check_arguments([], {"nothing": object()})
    assert caught.value.code == "arguments_not_json"


def test_tasks_come_by_name():
    job(sync_orders)
    job(send_digest)
    assert [task.name for task in registry.tasks()] == [f"{ME}.send_digest", f"{ME}.sync_orders"]


def test_an_isolated_registry_can_inherit_and_gives_back_what_was_before():
    job(sync_orders)
    with registry.isolated(inherit=True):
        job(Every(minutes=5))(send_digest_daily)
        assert len(registry.tasks()) == 2
    assert [task.function for task in registry.tasks()] == [sync_orders]
    assert registry.declarations() == ()


def send_digest_daily() -> None: ...


def test_threads_that_register_at_once_lose_nothing(modules: ModuleFactory):
    source = "\n".join(f"@job('* * * * *')\ndef task_{number}(): ..." for number in range(50))
    names = [f"gocron_threads_{number}" for number in range(4)]
    for name in names:
        modules.write(name, f"from django_gocron import job\n{source}\n")
    threads = [threading.Thread(target=importlib.import_module, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry.tasks()) == len(registry.declarations()) == 200


class ModuleFactory:
    """Modules of a test's own, which it may rewrite and load again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.names: list[str] = []

    def write(self, name: str, source: str) -> None:
        path = self.directory / f"{name}.py"
        path.write_text(source)
        self.names.append(name)
        importlib.invalidate_caches()

    def load(self, name: str, source: str) -> ModuleType:
        self.write(name, source)
        return importlib.import_module(name)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleFactory]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    factory = ModuleFactory(tmp_path)
    yield factory
    for name in factory.names:
        sys.modules.pop(name, None)


SOURCE = """
from django_gocron import Every, job
from tests.unit.test_registry import decorated

@job(Every(minutes={minutes}))
@decorated
def refresh(): ...
"""


def test_a_module_that_is_loaded_again_replaces_what_it_declared(modules: ModuleFactory):
    module = modules.load("gocron_reloaded", SOURCE.format(minutes=5))
    modules.write("gocron_reloaded", "\n\n" + SOURCE.format(minutes=7))
    importlib.reload(module)
    assert [declared.schedule for declared in registry.declarations()] == [Every(minutes=7)]
    assert registry.get_task("gocron_reloaded.refresh").function is module.refresh


def test_a_module_that_is_imported_anew_replaces_what_it_declared(modules: ModuleFactory):
    modules.load("gocron_anew", SOURCE.format(minutes=5))
    del sys.modules["gocron_anew"]
    module = modules.load("gocron_anew", SOURCE.format(minutes=7))
    assert [declared.schedule for declared in registry.declarations()] == [Every(minutes=7)]
    assert registry.get_task("gocron_anew.refresh").function is module.refresh


def test_two_functions_of_one_name_in_one_module_are_refused(modules: ModuleFactory):
    source = SOURCE.format(minutes=5)
    with pytest.raises(
        DeclarationError, match=r"gocron_twice.py:13: gocron_twice.refresh is registered already"
    ):
        modules.load("gocron_twice", f"{source}\n{source}")


def test_the_key_has_the_label_of_the_app_that_the_module_is_part_of():
    from tests.testapp import tasks_for_keys

    with registry.isolated():
        importlib.reload(tasks_for_keys)
        assert [declared.key for declared in registry.declarations()] == ["testapp.labelled"]


def test_the_key_has_the_top_package_where_no_app_has_the_module(modules: ModuleFactory):
    modules.load("gocron_no_app", SOURCE.format(minutes=5))
    assert [declared.key for declared in registry.declarations()] == ["gocron_no_app.refresh"]


def test_registration_does_not_ask_for_the_apps(monkeypatch: pytest.MonkeyPatch):
    import django.apps

    monkeypatch.setattr(django.apps, "apps", SimpleNamespace())
    job(Every(minutes=5))(sync_orders)
    assert len(registry.tasks()) == 1
