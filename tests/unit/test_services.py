from __future__ import annotations

import pytest

from tests.services import required_services
from tests.services.servers import Address


def test_reads_user_password_host_and_port_from_a_url():
    address = Address.parse("postgresql://sam:s%40m@db.example:6000", default_port=5432)
    assert (address.user, address.password, str(address)) == ("sam", "s@m", "db.example:6000")


def test_takes_the_usual_port_where_the_url_has_none():
    assert str(Address.parse("redis://127.0.0.1", default_port=6379)) == "127.0.0.1:6379"


def test_finds_a_unix_socket_in_the_query():
    address = Address.parse("mysql://root@/?host=/run/mysqld/mysqld.sock", default_port=3306)
    assert (address.host, address.port) == ("/run/mysqld/mysqld.sock", None)


def test_refuses_to_require_a_service_that_nobody_knows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOCRON_TEST_REQUIRE", "sqlite,oracle")
    with pytest.raises(ValueError, match="oracle"):
        required_services()
