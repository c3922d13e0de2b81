"""Names of locks that are legal and distinct wherever they are kept.

Memcached takes no blanks, no control characters and 250 bytes; MySQL takes "Job", "job" and "job " for one. So a key of
a few plain characters stands as it is, and any other is shown as well as it can be, with a digest that tells it apart.
"""

from __future__ import annotations

import hashlib
import re

PLAIN = re.compile(r"[a-z0-9._:@/+-]{1,100}")

SHOWN = 60
"""Characters of a key that are kept before its digest."""

LONGEST_NAME = 101
"""Characters of a name, at most, its prefix not counted."""


def exact_name(key: str) -> str:
    """Another for every key; ASCII, without blanks, at most ``LONGEST_NAME`` characters."""
    if PLAIN.fullmatch(key):
        return key
    shown = re.sub(r"[^A-Za-z0-9._:@/+-]+", "_", key)[:SHOWN]
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
    return f"{shown}#{digest}"
