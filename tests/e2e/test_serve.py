"""A real `xp serve`, a real network, real signals."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi.openapi.models import OpenAPI

from tests.builders import git
from tests.served import small_store
from xpstore.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = "from xpstore.cli.main import main; main()"


class Service:
    """One process of `xp serve`."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.address = urlsplit(url).netloc

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict, dict]:
        """Return status, headers, and the JSON of the answer."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json", **sent})
        answer = connection.getresponse()
        told = json.loads(answer.read())
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, told


@contextmanager
def served(where: Path, *words: str) -> Iterator[Service]:
    command = [sys.executable, "-c", START, "-C", str(where), "serve", "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            first = process.stdout.readline()
            assert first, process.stderr.read()
            yield Service(process, json.loads(first)["url"] if "--json" in words else first.strip())
        finally:
            process.kill()


def test_a_service_with_keys_for_two_stores(tmp_path, capsys):
    small_store(tmp_path / "desk", "refund")
    small_store(tmp_path / "lab", "cancel")
    keys = {}
    for name, store in (("desk", []), ("lab", ["--for", str(tmp_path / "lab")]), ("second", [])):
        assert run(["-C", str(tmp_path / "desk"), "serve", "key", "add", name, *store]) == 0
        keys[name] = capsys.readouterr().out.strip()

    def experiences(name: str) -> list[str]:
        uri = f"viking://user/{name}/memories/experiences"
        _, headers, told = service.ask("GET", f"/api/v1/fs/ls?uri={uri}&simple=true", X_API_Key=keys[name])
        assert headers["x-xp-commit"]
        return [uri.rpartition("/")[2] for uri in told["result"]]

    def sessions(name: str) -> list[str]:
        _, _, told = service.ask("GET", "/api/v1/sessions", Authorization=f"Bearer {keys[name]}")
        return [row["session_id"] for row in told["result"]]

    with served(tmp_path / "desk", "--json", "-v", "--rate", "4") as service:
        assert service.ask("GET", "/health")[2]["auth_mode"] == "api_key"
        description = service.ask("GET", "/openapi.json")[2]
        OpenAPI.model_validate(description)
        for headers in ({}, {"X_API_Key": "xp_wrong"}, {"Authorization": f"Basic {keys['desk']}"}):
            status, _, told = service.ask("GET", "/api/v1/sessions", **headers)
            assert (status, told["status"], told["error"]["code"]) == (401, "error", "UNAUTHENTICATED")
        assert (experiences("desk"), experiences("lab")) == (["refund.md"], ["cancel.md"])
        status, _, _ = service.ask("POST", "/api/v1/sessions", {"session_id": "s"}, X_API_Key=keys["desk"])
        assert status == 200
        assert [sessions(name) for name in keys] == [["s"], [], []]

        status, _, told = service.ask(
            "POST", "/api/v1/sessions", X_API_Key=keys["lab"], Content_Length="16777217"
        )
        assert (status, told["error"]["code"]) == (413, "RESOURCE_EXHAUSTED")

        asked = [service.ask("GET", "/api/v1/tasks", X_API_Key=keys["second"]) for _ in range(40)]
        slow = next(answer for answer in asked if answer[0] != 200)
        assert (slow[0], slow[1]["retry-after"]) == (429, "1")
        assert service.ask("GET", "/api/v1/tasks", X_API_Key=keys["lab"])[0] == 200  # that is another caller

        assert run(["-C", str(tmp_path / "desk"), "serve", "key", "drop", "lab"]) == 0
        assert service.ask("GET", "/api/v1/tasks", X_API_Key=keys["lab"])[0] == 401

        assert run(["-C", str(tmp_path / "lab"), "serve", "--port", "0"]) == 1
        assert "error: " in capsys.readouterr().err  # one process has a store's sessions
        end_while_asking(service, X_API_Key=keys["desk"])
        said = service.process.stderr.read()
    assert "Traceback" not in said
    assert not any(key in said for key in keys.values())
    assert "desk: POST /api/v1/sessions 200" in said
    assert git(tmp_path / "desk", "status", "--porcelain") == ""


def end_while_asking(service: Service, **headers: str) -> None:
    """Press Ctrl-C while a request is on its way: it is answered, and nobody new is let in."""
    body = json.dumps({"session_id": "late"}).encode()
    head = ["POST /api/v1/sessions HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head += [f"Content-Length: {len(body)}", "Expect: 100-continue", "", ""]
    host, _, port = service.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as begun:
        begun.sendall("\r\n".join(head).encode())
        assert begun.recv(100).startswith(b"HTTP/1.1 100")  # somebody waits for the body
        service.process.send_signal(signal.SIGINT)
        refused = False
        while not refused:
            try:
                socket.create_connection((host, int(port)), timeout=60).close()
            except ConnectionError:  # refused, or taken and dropped at that moment
                refused = True
        begun.sendall(body)
        answer = begun.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert service.process.wait(60) == 130


def test_without_the_packages_it_says_what_to_install(tmp_path):
    small_store(tmp_path / "s")
    blocked = f"import sys; sys.modules['fastapi'] = None; {START}"
    command = [sys.executable, "-c", blocked, "-C", str(tmp_path / "s"), "serve"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: xp serve needs the package 'fastapi', which is not installed\n"
        "hint: pip install 'xpstore[serve]'\n"
    )
