"""Keeping secrets out of what is stored and shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MASK = "********"

_SECRET_NAME = re.compile(r"api_?key|auth|credential|passw|passphrase|private_?key|secret|signature|token", re.I)
_IN_URL = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s/@]+(?=@)", re.I)
_ASSIGNED = re.compile(
    r"(?P<before>\b\w*(?:api_?key|passw(?:or)?d|passphrase|secret|token)\w*['\"]?\s*[=:]\s*['\"]?)(?P<value>[^\s'\",;&)}]+)",
    re.I,
)


def is_secret(name: str) -> bool:
    """Whether an argument of this name is likely to hold a secret."""
    return bool(_SECRET_NAME.search(name))


def mask_arguments(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the secret ones masked, for people to see."""
    return {name: MASK if is_secret(name) and value else _mask_inside(value) for name, value in kwargs.items()}


def _mask_inside(value: Any) -> Any:
    if isinstance(value, dict):
        return mask_arguments(value)
    return [_mask_inside(item) for item in value] if isinstance(value, list) else value


def find_secrets(kwargs: Mapping[str, Any]) -> set[str]:
    """The texts that must not show up in what a run leaves behind."""
    secrets: set[str] = set()
    for name, value in kwargs.items():
        if isinstance(value, dict):
            secrets |= find_secrets(value)
        elif is_secret(name) and len(str(value)) >= 4:
            secrets.add(str(value))
    return secrets


def mask_text(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets, without passwords in URLs, and without values assigned to secret names."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    text = _IN_URL.sub(rf"\g<before>{MASK}", text)
    return _ASSIGNED.sub(rf"\g<before>{MASK}", text)
