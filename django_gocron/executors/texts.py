"""Texts as every database can store them."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text with what some databases or drivers refuse written out: NUL, and halves of surrogate pairs."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def in_ascii(text: str) -> str:
    """The text with everything written out that is not ASCII, for a database whose character set is a small one."""
    return text.encode("ascii", "backslashreplace").decode("ascii").replace("\x00", "\\x00")
