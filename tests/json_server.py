"""A real HTTP server on loopback that answers JSON, or whatever a test has told it to.

    server.on("GET", "/v1/things", {"things": []})                      a value, again and again
    server.on("GET", "/v1/things", Answer(503), "reset", {"things": []})   one after the other, the last stays
    server.on("POST", "/v1/things", lambda seen: {"got": seen.body})

A path that ends with * stands for all that begin so.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

FAULTS = {
    "reset",  # the connection breaks off before anything is answered
    "slow",  # no answer until the server closes
    "drip",  # a header, then a byte now and then, never an end
    "truncated",  # the connection ends in the middle of the body
}


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: JsonValue | bytes = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """A request."""

    method: str
    path: str
    body: JsonValue
    raw: bytes
    headers: Mapping[str, str]
    """By name in small letters."""


Handler: TypeAlias = Callable[[Seen], object]


class JsonServer:
    """Use `json_server`."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.closing = threading.Event()
        self._answers: dict[tuple[str, str], list[object]] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, method: str, path: str, *answers: object) -> None:
        self._answers[method, path] = list(answers)

    def paths(self, method: str = "") -> list[str]:
        """Return the paths that were asked for, in order."""
        return [seen.path for seen in self.requests if method in {"", seen.method}]

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, seen: Seen) -> object:
        with self._lock:
            self.requests.append(seen)
            path = seen.path.partition("?")[0]
            keys = [(seen.method, path)]
            wild = [(m, p) for m, p in self._answers if m == seen.method and p.endswith("*")]
            keys += [(m, p) for m, p in wild if path.startswith(p.removesuffix("*"))]
            found = next((self._answers[key] for key in keys if key in self._answers), None)
            if found is None:
                return Answer(404, {"error": {"message": "there is nothing here"}})
            answer = found.pop(0) if len(found) > 1 else found[0]
        return answer(seen) if callable(answer) else answer


class _Handler(BaseHTTPRequestHandler):
    owner: JsonServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *args: object) -> None:
        pass

    def _do(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with suppress(ValueError):
            seen = Seen(self.command, self.path, None, raw, headers)
            seen = Seen(self.command, self.path, json.loads(raw), raw, headers)
        answer = self.owner.answer(seen)
        if isinstance(answer, str) and answer in FAULTS:
            self._fail(answer)
            return
        if not isinstance(answer, Answer):
            answer = Answer(body=answer)
        self._send(answer)

    do_GET = do_POST = do_DELETE = do_PUT = _do  # noqa: N815

    def _send(self, answer: Answer) -> None:
        empty = answer.body is None
        data = (
            answer.body
            if isinstance(answer.body, bytes)
            else b""
            if empty
            else json.dumps(answer.body).encode()
        )
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(data)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _fail(self, fault: str) -> None:
        self.close_connection = True
        if fault in {"drip", "truncated"}:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"a": ')
        if fault == "drip":
            while not self.owner.closing.wait(0.02):
                self.wfile.write(b" ")
        if fault == "slow":
            self.owner.closing.wait()
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


@contextmanager
def json_server() -> Iterator[JsonServer]:
    server = JsonServer()
    try:
        yield server
    finally:
        server.close()
