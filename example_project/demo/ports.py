"""A port for the web server."""

from __future__ import annotations

import socket
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from django.core.management import CommandError

HOST = "127.0.0.1"
USUAL = 8000
TRIES = 20


def find_port(wanted: int | None) -> int:
    """``wanted`` if it is free, else ``CommandError``; without one the first free port from 8000 on."""
    if wanted is not None:
        if not _is_free(wanted):
            raise CommandError(f"Port {wanted} is taken. Give --port another, or leave it out.")
        return wanted
    for port in range(USUAL, USUAL + TRIES):
        if _is_free(port):
            return port
    raise CommandError(f"Ports {USUAL} to {USUAL + TRIES - 1} are all taken. Choose one with --port.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def answers(port: int, path: str) -> bool:
    """Whether a web server there gives that page."""
    with closing(HTTPConnection(HOST, port, timeout=10)) as connection:
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
