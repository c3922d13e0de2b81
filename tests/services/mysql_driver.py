"""Django's driver for MariaDB: mysqlclient where it could be compiled, else PyMySQL in its place."""

from __future__ import annotations

from importlib.metadata import version

try:
    import MySQLdb
except ImportError:
    import pymysql

    pymysql.install_as_MySQLdb()
    import MySQLdb

    DRIVER = f"PyMySQL {version('pymysql')}"
else:
    DRIVER = f"mysqlclient {version('mysqlclient')}"

__all__ = ["DRIVER", "MySQLdb"]
