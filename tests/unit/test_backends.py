from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from django_gocron.backends import Backend
from django_gocron.exceptions import ConfigurationError


class Counter:
    def __init__(self, start: int = 0) -> None:
        if start < 0:
            raise ConfigurationError("start is at least 0.", code="bad_backend")
        self.start = start


def backend(path: str = f"{__name__}.Counter", **options: Any) -> Backend:
    return Backend(setting="GOCRON['COUNTER']", path=path, options=options)


def test_a_backend_is_made_with_its_options():
    assert backend(start=3).make(Counter).start == 3


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (backend("nowhere.Counter"), "'nowhere.Counter' cannot be imported: No module named 'nowhere'."),
        (backend(f"{__name__}.Missing"), "cannot be imported"),
        (backend("Counter"), "'Counter' cannot be imported"),
        (backend("datetime.timedelta"), "datetime.timedelta is not a subclass of"),
        (backend(f"{__name__}.backend"), "is not a subclass of"),
        (backend(stop=3), "does not take these OPTIONS: "),
        (backend(start=-1), "start is at least 0."),
    ],
)
def test_what_cannot_be_made_is_told_with_its_setting(named: Backend, words: str):
    with pytest.raises(ConfigurationError) as caught:
        named.make(Counter)
    assert caught.value.message.startswith("GOCRON['COUNTER']: ")
    assert words in caught.value.message
    assert caught.value.code == "bad_backend"


def test_any_class_can_be_asked_for():
    assert backend("datetime.timedelta", seconds=5).make(timedelta) == timedelta(seconds=5)
