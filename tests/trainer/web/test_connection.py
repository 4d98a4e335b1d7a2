from __future__ import annotations

import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from tests.env_world import serving
from trainer.web.limits import WebLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 64 << 20
"""Bytes of an answer that fits into no buffer of the system."""
GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def served(**limits: float) -> Iterator[tuple[str, int]]:
    app = FastAPI()
    app.add_api_route("/large", lambda: PlainTextResponse(b"x" * LARGE))
    app.add_api_route("/small", lambda: PlainTextResponse(b"x"))
    with serving(app, WebLimits(**limits)) as url:
        yield "127.0.0.1", urlsplit(url).port


def until_closed(connection: socket.socket) -> int:
    """Return the bytes that come until the other side has closed; it has 20 s for that."""
    connection.settimeout(20)
    count = 0
    with suppress(ConnectionResetError):
        while data := connection.recv(1 << 16):
            count += len(data)
    return count


def answer(connection: socket.socket) -> bytes:
    """Return the answer of `/small`."""
    connection.settimeout(20)
    found = b""
    while not found.endswith(b"\r\n\r\nx"):
        found += connection.recv(1 << 16)
    return found


@pytest.mark.parametrize("sent", [b"", b"GET /small HTTP/1.1\r\nHost: lo"])
def test_headers_that_do_not_come_are_not_waited_for(sent):
    with served(header_seconds=0.05) as address, socket.create_connection(address) as connection:
        connection.sendall(sent)
        until_closed(connection)


def test_nor_those_of_the_next_request():
    with served(header_seconds=0.05) as address, socket.create_connection(address) as connection:
        connection.sendall(GET % b"small")
        answer(connection)
        connection.sendall(b"GET /sm")
        until_closed(connection)


def test_a_request_in_pieces_is_answered_and_so_is_the_next_one():
    with served() as address, socket.create_connection(address) as connection:
        connection.settimeout(20)
        for _ in range(2):
            for byte in GET % b"small":
                connection.sendall(bytes([byte]))
            assert answer(connection).startswith(b"HTTP/1.1 200")


def test_an_answer_that_nobody_reads_is_given_up():
    with served(body_seconds=0.05, connections=2) as address, socket.create_connection(address) as connection:
        connection.sendall(GET % b"large")
        connection.recv(1)
        while not _small(address).startswith(b"HTTP/1.1 200"):  # there is no room for both
            pass


def test_whoever_reads_gets_all():
    with served() as address, socket.create_connection(address) as connection:
        connection.sendall((GET % b"large").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert until_closed(connection) > LARGE


def test_what_is_more_than_twice_the_limit_is_not_kept():
    with served(connections=2) as address:
        kept = [socket.create_connection(address) for _ in range(4)]
        with socket.create_connection(address) as one_more:
            assert until_closed(one_more) == 0
        kept[0].sendall(GET % b"small")
        assert kept[0].recv(1 << 16).startswith(b"HTTP/1.1 503")
        for connection in kept:
            connection.close()


def _small(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address) as connection:
        connection.settimeout(20)
        connection.sendall(GET % b"small")
        return connection.recv(1 << 16)
