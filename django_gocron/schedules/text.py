"""The words people read, translated when a translator is installed.

This package needs no Django; under Django, ``AppConfig.ready()`` calls ``install(django.utils.translation)``, and every
sentence and error message follows the active language from then on. Import as ``gettext as _``, so that
``makemessages`` finds the strings.
"""

from __future__ import annotations

import gettext as _stdlib
from typing import Protocol


class Translations(Protocol):
    """What a translator offers: ``django.utils.translation`` and ``gettext.NullTranslations`` both do."""

    def gettext(self, message: str, /) -> str: ...

    def ngettext(self, singular: str, plural: str, number: int, /) -> str: ...


_installed: list[Translations] = [_stdlib.NullTranslations()]


def install(translations: Translations) -> None:
    """Translate through ``translations`` from now on, in the whole process."""
    _installed[0] = translations


def gettext(message: str) -> str:
    return _installed[0].gettext(message)


def ngettext(singular: str, plural: str, number: int) -> str:
    return _installed[0].ngettext(singular, plural, number)


def gettext_noop(message: str) -> str:
    """Mark a string for translators; whoever shows it translates it then."""
    return message
