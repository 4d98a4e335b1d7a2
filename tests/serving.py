"""An `xp serve` that is killed and started again, and clients that live through it."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

DONE = {"completed", "failed", "cancelled"}
HANGS = 300
"""Seconds after which a task is taken to hang: many times what the slowest machine needs."""


class Zygote:
    """The process that forks services."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.serve_forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = threading.Lock()

    def serve(self, args: Sequence[str], *, fickle: bool) -> tuple[int, str]:
        """Start a service; return its pid and the first line that it wrote."""
        with self._lock:
            self._say({"serve": list(args), "fickle": fickle})
            return int(self._line()), self._line()

    def stop(self, pid: int, how: str) -> int:
        """Kill it, or let it end; return its exit code."""
        with self._lock:
            self._say({how: pid})
            while not (line := self._line()).startswith("code "):
                pass
            return int(line.split()[1])

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _say(self, command: object) -> None:
        self._process.stdin.write(f"{json.dumps(command)}\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        line = self._process.stdout.readline()
        assert line, "the process that forks services has ended"
        return line


class Served:
    """The service of one store, now and then there."""

    def __init__(
        self,
        zygote: Zygote,
        store: Path,
        *,
        branch: str = "",
        fickle: bool = True,
        options: Sequence[str] = (),
    ) -> None:
        self._zygote = zygote
        self._fickle = fickle
        self.store = store
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._args = ["-C", str(store), "serve", "--port", str(self.port), "--rate", "0", "--json"]
        self._args += [*(["--branch", branch] if branch else []), *options]
        self._pid = 0
        self._failure = ""
        self._up = threading.Condition()

    def start(self) -> None:
        pid, said = self._zygote.serve(self._args, fickle=self._fickle)
        is_up = said.startswith("{") and json.loads(said)["url"].endswith(f":{self.port}")
        with self._up:
            self._pid = pid if is_up else 0
            self._failure = "" if is_up else f"the service did not start: {said}"
            self._up.notify_all()
        assert is_up, self._failure

    def kill(self) -> None:
        code = self._zygote.stop(self._taken(), "kill")
        assert code == -9, f"the service had ended by itself with {code}"

    def end(self) -> int:
        return self._zygote.stop(self._taken(), "end")

    def _taken(self) -> int:
        """Return its pid, which is nobody's from now on: 0 would be that of everybody here."""
        with self._up:
            pid, self._pid = self._pid, 0
        assert pid, self._failure or "the service is not there"
        return pid

    def wait(self) -> None:
        """Wait until it is there."""
        with self._up:
            assert self._up.wait_for(lambda: self._pid or self._failure, timeout=60)
            assert not self._failure, self._failure


class Client:
    """One client: asks again where the service was killed meanwhile."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
        """Return status and envelope; until there is an answer, ask again."""
        while True:
            try:
                return self.ask_once(method, path, body)
            except (OSError, http.client.HTTPException):
                self.close()
                self._served.wait()

    def ask_once(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
        """Return status and envelope. Raises OSError, HTTPException where there is no answer."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._served.port, timeout=60)
        data = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", data, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def commit(self, session: str, messages: Sequence[dict[str, object]]) -> dict[str, object]:
        """Make a session of these messages, commit it, and return its task when it is done."""
        status, _ = self.ask("POST", "/sessions", {"session_id": session})
        assert status in {200, 409}
        named = [{**message, "id": f"m{number}"} for number, message in enumerate(messages)]
        status, _ = self.ask("POST", f"/sessions/{session}/messages/batch", {"messages": named})
        assert status == 200
        status, answer = self.ask("POST", f"/sessions/{session}/commit", {})
        assert status == 200
        if answer["result"]["status"] == "skipped":  # the answer to the first was lost
            status, answer = self.ask("GET", f"/tasks?resource_id={session}")
            (task,) = answer["result"]
        else:
            task = answer["result"]
        return self.task(task["task_id"])

    def task(self, task: str) -> dict[str, object]:
        """Return a task when it is done. One that hangs is told, with what is known of it."""
        until = time.monotonic() + HANGS
        while True:
            status, answer = self.ask("GET", f"/tasks/{task}")
            assert status == 200, answer
            if answer["result"]["status"] in DONE:
                return answer["result"]
            assert time.monotonic() < until, f"a task is not done after {HANGS} s: {answer['result']}"


@contextmanager
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    try:
        yield made
    finally:
        made.close()
