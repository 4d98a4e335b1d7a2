"""Repositories over smart HTTP on the loopback interface, as a hosting site serves them."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Handler(BaseHTTPRequestHandler):
    """Hands each request to `git http-backend`."""

    def __init__(self, top: Path, *args: object) -> None:
        self._top = top
        super().__init__(*args)

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
            "GIT_PROJECT_ROOT": str(self._top),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        body = self._body()
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, data = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for key, value in {**fields, "Content-Length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts: list[bytes] = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(top: Path) -> Iterator[str]:
    """Serve the repositories below a folder and yield the address of the folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, top)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
