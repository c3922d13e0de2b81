"""Keeping secrets out of what is stored and shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MASK = "********"

SHORTEST = 4
"""A shorter text is not looked for: it would mask half of what it is looked for in."""

_SECRET_NAME = re.compile(
    r"api_?key|auth|credential|passw|passphrase|private_?key|secret|signature|token", re.I
)
_IN_URL = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s/@]+(?=@)", re.I)
_IN_HEADER = re.compile(
    r"(?P<before>\bauthorization['\"]?\s*[=:]\s*['\"]?)(?:(?P<scheme>\w+)\s+)?[^\s'\",;]+", re.I
)
_ASSIGNED = re.compile(
    r"(?P<before>\b\w*(?:api[_-]?key|credential|passw(?:or)?d|passphrase|private[_-]?key|secret|token)\w*['\"]?\s*[=:]\s*)"
    r"(?:(?P<quote>['\"])(?:\\.|(?!(?P=quote)).)*(?P=quote)|['\"]?[^\s'\",;&)}\]]+)",
    re.I,
)


def is_secret(name: str) -> bool:
    """Whether an argument of this name is likely to hold a secret."""
    return bool(_SECRET_NAME.search(name))


def mask_arguments(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the secret ones masked, for people to see."""
    return {
        name: MASK if is_secret(name) and value else _mask_inside(value) for name, value in kwargs.items()
    }


def _mask_inside(value: Any) -> Any:
    if isinstance(value, dict):
        return mask_arguments(value)
    return [_mask_inside(item) for item in value] if isinstance(value, list) else value


def find_secrets(kwargs: Mapping[str, Any]) -> set[str]:
    """The texts that must not show up in what a run leaves behind."""
    return {text for text in _secrets(kwargs, inside=False) if len(text) >= SHORTEST}


def _secrets(value: Any, *, inside: bool) -> Iterator[str]:
    """All texts and numbers below a secret name, however deep."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _secrets(item, inside=inside or is_secret(name))
    elif isinstance(value, list):
        for item in value:
            yield from _secrets(item, inside=inside)
    elif inside and value is not None and not isinstance(value, bool):
        yield str(value)


def mask_text(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets, without passwords in URLs and authorization headers, and without values
    assigned to secret names."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    text = _IN_URL.sub(rf"\g<before>{MASK}", text)
    text = _IN_HEADER.sub(_mask_header, text)
    return _ASSIGNED.sub(_mask_assigned, text)


def _mask_header(match: re.Match[str]) -> str:
    scheme = match["scheme"]
    return f"{match['before']}{scheme + ' ' if scheme else ''}{MASK}"


def _mask_assigned(match: re.Match[str]) -> str:
    quote = match["quote"] or ""
    return f"{match['before']}{quote}{MASK}{quote}"
