"""Rules for text that no other linter knows.

* Templates carry no script, style or event handler of their own: the admin must work under a strict
  Content-Security-Policy.
* No file names a directory of somebody's machine, nor the host of a package registry.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

INLINE = {
    re.compile(
        r"<script(?![^>]*\ssrc=)", re.IGNORECASE
    ): "a script written inline: put it into a static file",
    re.compile(r"<style\b", re.IGNORECASE): "a style sheet written inline: put it into a static file",
    re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE): "a style attribute: give the element a class",
    re.compile(
        r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE
    ): "an event handler in an attribute: use addEventListener",
}
EVERYWHERE = {
    re.compile(r"(?<![\w.])/(?:home|Users|root|work)/\w"): "a path of one machine",
    re.compile(
        r"\b(?:files\.pythonhosted|pypi|registry\.npmjs|deb\.debian)\.org\b"
    ): "the host of a registry",
}
OURSELVES = Path(".ci/lint_text.py")


def main() -> int:
    faults = [fault for path in _files() for fault in _faults(path)]
    print("\n".join(faults) or "text: nothing to complain about")
    return 1 if faults else 0


def _files() -> Iterator[Path]:
    """What git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    yield from (Path(name) for name in names.split("\0") if name and Path(name).is_file())


def _faults(path: Path) -> Iterator[str]:
    if path == OURSELVES:
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    rules = EVERYWHERE | (INLINE if path.suffix == ".html" and "templates" in path.parts else {})
    for pattern, what in rules.items():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {what}"


if __name__ == "__main__":
    sys.exit(main())
