from __future__ import annotations

from collections.abc import Iterator

import pytest

from django_gocron import registry
from tests.integration.admin_support import send_report


@pytest.fixture
def report_task() -> Iterator[None]:
    """``send_report`` is the only task there is."""
    with registry.isolated():
        registry.register(send_report)
        yield
