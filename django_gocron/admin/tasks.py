"""Tasks as people choose them: by app, with the first line of their docstrings and their signatures."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from django import forms
from django.apps import apps
from django.utils.translation import gettext as _

from django_gocron import registry
from django_gocron.commands import CommandTask

if TYPE_CHECKING:
    from django_gocron.registry import Task

Choices = list[tuple[str, str | list[tuple[str, str]]]]


def task_choices(stored: str) -> Choices:
    """Every registered task under the name of its app; a stored one that is not registered stays to be chosen."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for task in registry.tasks():
        groups.setdefault(_group(task), []).append((task.name, _label(task)))
    choices: Choices = [("", "---------"), *sorted(groups.items())]
    if stored and registry.find_task(stored) is None:
        choices.append((_("Not registered here"), [(stored, stored)]))
    return choices


def _group(task: Task) -> str:
    if isinstance(task, CommandTask):
        return _("Management commands")
    label = registry.find_app_label(task.name.rpartition(".")[0])
    return str(apps.app_configs[label].verbose_name) if label in apps.app_configs else label


def _label(task: Task) -> str:
    name = task.name.rpartition(".")[2]
    return f"{name}: {task.doc}" if task.doc else name


def signature_text(name: str) -> str:
    """ "region: str, limit: int = 100"; "" for a task that is not registered or takes nothing."""
    task = registry.find_task(name)
    if task is None:
        return ""
    return ", ".join(_parameter_text(parameter) for parameter in task.signature.parameters.values())


def _parameter_text(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    if isinstance(annotation, str):
        plain = parameter.replace(annotation=inspect.Parameter.empty)
        name, equals, default = str(plain).partition("=")
        return f"{name}: {annotation} = {default}" if equals else f"{name}: {annotation}"
    return str(parameter)


class TaskSelect(forms.Select):
    """Each option tells its signature, for the script to show."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *args, **kwargs)
        option["attrs"]["data-signature"] = signature_text(str(value))
        return option
