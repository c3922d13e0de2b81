from __future__ import annotations

import logging
import threading

import pytest

from django_gocron.executors import output
from django_gocron.executors.output import LONGEST, LONGEST_LINE, MOST_LINES, Output, capture
from django_gocron.masking import mask_text

logger = logging.getLogger("shop.orders")


@pytest.fixture(autouse=True)
def _informed() -> None:
    logger.setLevel(logging.INFO)


def record(message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("shop", logging.INFO, __file__, 1, message, args, None)


def test_keeps_what_the_enclosed_code_logs():
    with capture() as kept:
        logger.info("imported %d orders", 3)
    line = kept.text()
    assert line.endswith("INFO    shop.orders  imported 3 orders")


def test_keeps_nothing_that_is_logged_outside():
    logger.info("before")
    with capture() as kept:
        pass
    logger.info("after")
    assert kept.text() == ""


def test_keeps_nothing_that_another_thread_logs():
    with capture() as kept:
        thread = threading.Thread(target=logger.info, args=("elsewhere",))
        thread.start()
        thread.join()
    assert kept.text() == ""


def test_an_inner_capture_has_its_own_lines():
    with capture() as outer:
        logger.info("one")
        with capture() as inner:
            logger.info("two")
        logger.info("three")
    assert [line.rpartition("  ")[2] for line in outer.text().splitlines()] == ["one", "three"]
    assert inner.text().endswith("two")


def test_is_heard_again_where_the_project_has_configured_its_logging_anew():
    with capture():
        pass
    root = logging.getLogger()
    handlers = root.handlers[:]
    root.handlers.clear()
    try:
        with capture() as kept:
            logger.info("still here")
    finally:
        root.handlers[:] = [*handlers, *(h for h in root.handlers if h not in handlers)]
    assert kept.text().endswith("still here")


def test_the_latest_lines_are_kept_and_the_dropped_ones_counted():
    kept = Output()
    for number in range(MOST_LINES + 5):
        kept.add(record("line %d", number))
    lines = kept.text().splitlines()
    assert lines[0] == "... 5 earlier lines were dropped ..."
    assert lines[1].endswith("line 5")
    assert lines[-1].endswith(f"line {MOST_LINES + 4}")


def test_a_long_line_is_cut():
    kept = Output()
    kept.add(record("x" * 10_000))
    assert len(kept.text()) == LONGEST_LINE + len("...")


def test_all_lines_together_are_bounded_too():
    kept = Output()
    for _ in range(MOST_LINES):
        kept.add(record("x" * 1_900))
    text = kept.text()
    assert len(text) <= LONGEST + 100
    assert text.startswith("... 9")


def test_a_record_that_cannot_be_formatted_is_kept_as_it_is():
    kept = Output()
    kept.add(record("%d orders", "no"))
    assert "'%d orders'" in kept.text()


def test_what_no_database_takes_is_written_out():
    kept = Output()
    kept.add(record("NUL \x00, half a character \ud800"))
    assert kept.text().endswith("NUL \\x00, half a character \\ud800")


def test_secrets_in_lines_can_be_masked():
    kept = Output()
    kept.add(record("connecting with password=%s", "hunter2"))
    assert mask_text(kept.text()).endswith("password=********")


def test_the_handler_is_on_the_root_logger_once():
    with capture(), capture():
        assert logging.getLogger().handlers.count(output._handler) == 1


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("the connection is closed")


def test_keeps_a_record_whose_message_cannot_even_be_shown():
    kept = Output()
    kept.add(record(Unspeakable()))  # type: ignore[arg-type]
    assert "<Unspeakable>" in kept.text()


def test_keeps_a_message_as_it_was_when_it_was_logged():
    kept = Output()
    items = [1, 2]
    kept.add(record("items: %s", items))
    items.clear()
    assert kept.text().endswith("items: [1, 2]")
