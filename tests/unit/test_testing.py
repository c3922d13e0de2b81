"""What projects import for their tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from django_gocron import testing


def test_the_contracts_and_the_clock_need_no_apps():
    """Processes that the contracts start import them before Django is set up."""
    code = "from django_gocron.testing import ElectorContract, FakeClock, LockerContract"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_every_name_is_there_and_no_other():
    assert all(hasattr(testing, name) for name in testing.__all__)
    with pytest.raises(AttributeError):
        _ = testing.SomethingElse  # type: ignore[attr-defined]
