"""Texts as every database can store them, and what errors say, whatever their classes do."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


def storable(text: str) -> str:
    """The text with what some databases or drivers refuse written out: NUL, and halves of surrogate pairs."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def in_ascii(text: str) -> str:
    """The text with everything written out that is not ASCII, for a database whose character set is a small one."""
    return text.encode("ascii", "backslashreplace").decode("ascii").replace("\x00", "\\x00")


def message_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - an exception's own __str__ may raise
        return ""


def traceback_of(error: BaseException, frames: TracebackType | None) -> str:
    """The traceback from these frames on."""
    try:
        return "".join(traceback.format_exception(type(error), error, frames))
    except BaseException:  # noqa: BLE001 - an exception's own cause or notes may raise
        return "".join(traceback.format_tb(frames))
