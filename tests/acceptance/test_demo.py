from __future__ import annotations

import re
import socket
from http.client import HTTPConnection
from signal import SIGINT, SIGKILL

import pytest

from tests.acceptance.conftest import Demonstration
from tests.acceptance.processes import Process, wait_until
from tests.acceptance.projects import Project

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/admin/")


def count_unstopped(shop: Project) -> int:
    return int(shop.rows("SELECT count(*) FROM gocron_instance WHERE stopped_at IS NULL")[0][0])


@pytest.fixture
def open_shop(used_shop: Project) -> Process:
    """The demo, once it has finished a run."""
    return open_demo(used_shop)


def open_demo(shop: Project) -> Process:
    demo = shop.start("demo")
    demo.wait_for("run succeeded")
    return demo


def port_of(demo: Process) -> int:
    found = ADDRESS.search(demo.output)
    assert found is not None
    return int(found[1])


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/admin/login/")
        return connection.getresponse().status == 200
    except ConnectionError:
        return False
    finally:
        connection.close()


def test_thirty_seconds_show_what_a_scheduler_does(demonstration: Demonstration) -> None:
    output = demonstration.output
    assert demonstration.code == 0, output
    report = output.partition("What happened in 30 seconds")[2]
    finished = re.search(r"(\d+) runs of (\d+) jobs finished", report)
    assert finished is not None, output
    assert int(finished[1]) >= 20
    assert int(finished[2]) >= 5
    assert re.search(r"Orders imported: [1-9]", report)
    assert re.search(r"Mails printed: [1-9]", report)
    assert "Subject: " in report
    assert "A failed run: Fetch prices" in report
    assert "shop.supplier.SupplierError" in report


def test_ctrl_c_closes_the_open_shop_the_scheduler_first(used_shop: Project, open_shop: Process) -> None:
    assert "login: admin   password: admin" in open_shop.output
    assert answers(port_of(open_shop))
    open_shop.send(SIGINT)
    assert open_shop.wait() == 0, open_shop.output
    assert "scheduler stopped" in open_shop.lines[-1]
    assert not answers(port_of(open_shop))
    assert count_unstopped(used_shop) == 0


def test_killed_it_leaves_nobody_behind(used_shop: Project, open_shop: Process) -> None:
    open_shop.send(SIGKILL)
    wait_until(lambda: count_unstopped(used_shop) == 0)
    wait_until(lambda: not answers(port_of(open_shop)))


def test_a_database_of_another_version_is_set_aside(used_shop: Project) -> None:
    used_shop.rows("ALTER TABLE gocron_jobstate RENAME COLUMN token_counter TO old_counter")
    demo = open_demo(used_shop)
    assert "shop.old.sqlite3" in demo.wait_for("made by another version")
    assert (used_shop.folder / "shop.old.sqlite3").exists()


def test_a_port_that_is_taken_is_refused_before_anything_else(shop: Project) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        output = shop.manage("demo", "--port", str(port), code=1)
    assert output.strip() == f"CommandError: Port {port} is taken. Give --port another, or leave it out."


def test_a_web_server_that_does_not_start_ends_it_with_its_own_words(used_shop: Project) -> None:
    used_shop.append("config/settings.py", "WSGI_APPLICATION = 'config.lost_key.application'")
    output = used_shop.manage("demo", code=1)
    assert "config.lost_key.application" in output
    assert "The web server has ended by itself" in output
