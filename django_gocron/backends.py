"""What settings name: a class by its dotted path, and the options it is made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from django_gocron.exceptions import ConfigurationError
from django_gocron.options import WrongValue, suggest

T = TypeVar("T")

KEYS = ("BACKEND", "OPTIONS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """``setting`` is where it stands, for messages: ``GOCRON['ELECTOR']``."""

    setting: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self, kind: type[T]) -> T:
        """An object of the class. Raises ``ConfigurationError`` (``bad_backend``) when it cannot be imported, is no
        ``kind``, or refuses its options."""
        cls = self._import()
        if not isinstance(cls, type) or not issubclass(cls, kind):
            raise self._bad(f"{self.path} is not a subclass of {kind.__module__}.{kind.__name__}.")
        try:
            return cls(**self.options)
        except TypeError as error:
            raise self._bad(f"{self.path} does not take these OPTIONS: {error}.") from error
        except ConfigurationError as error:
            raise self._bad(error.message) from error
        except Exception as error:
            raise self._bad(f"{self.path} raised {type(error).__name__}: {error}") from error

    def _import(self) -> object:
        module, _dot, name = self.path.rpartition(".")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise self._bad(f"{self.path!r} cannot be imported: {error}.") from error

    def _bad(self, message: str) -> ConfigurationError:
        return ConfigurationError(f"{self.setting}: {message}", code="bad_backend", field=self.setting)


def read_backend(value: object, setting: str) -> Backend:
    """Raises ``WrongValue`` when it is not of this form. What it names is imported when it is made."""
    if not isinstance(value, Mapping) or not isinstance(value.get("BACKEND"), str):
        raise WrongValue(
            "a dictionary with the dotted path of a class as its 'BACKEND', and perhaps 'OPTIONS'"
        )
    for key in value:
        if key not in KEYS:
            raise WrongValue(
                f"a dictionary with 'BACKEND' and 'OPTIONS' alone.{suggest(str(key).upper(), KEYS)}"
            )
    options = value.get("OPTIONS", {})
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise WrongValue("a dictionary whose 'OPTIONS' are one of names and values")
    return Backend(setting=setting, path=value["BACKEND"], options=dict(options))
