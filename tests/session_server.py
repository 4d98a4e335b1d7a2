"""A real HTTP server on loopback with OpenViking's session API: it keeps messages, and learns nothing.

    server.faults["commit"] = ["lost"]     what goes wrong with the calls of a kind, one after the other
    server.course = ["running", "failed"]  what a task is, look for look; the last stays

Kinds of calls are create, add, commit, look (at a session), tasks (of a session), task and retry.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import JsonValue

FaultName = Literal[
    "reset",  # nothing is done, the connection breaks off
    "lost",  # it is done, and the connection breaks off before the answer
    "stale",  # a look at a session tells nothing of it yet
    "html",  # a web page, with status 200
    "plain",  # JSON without an envelope, with status 200
    "list",  # an empty list as the result
    "bare",  # an empty object as the result
]
Fault: TypeAlias = FaultName | tuple[int, str]
"""Or a status with a Retry-After, "" for none."""
Object: TypeAlias = dict[str, JsonValue]


class SessionServer:
    """Use it as a context."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.faults: dict[str, list[Fault]] = {}
        self.course = ["pending", "running", "completed"]
        self.courses: dict[str, list[str]] = {}
        """Of single tasks, which are task-0, task-1 and so on."""
        self.result: Object = {"memory_diff_uri": "viking://diff"}
        self.error = "the model was away"
        self.waiting: dict[str, list[JsonValue]] = {}
        """Session → messages that are not committed."""
        self.archives: dict[str, list[list[JsonValue]]] = {}
        self.tasks: dict[str, str] = {}
        """Task → session."""
        self.seen: Counter[str] = Counter()
        """How often each task was looked at."""
        self.can_retry = False
        self.retried: list[str] = []
        """Tasks that somebody wanted to be tried again."""
        self.calls: Counter[str] = Counter()
        self.most = 0
        """Requests at the same time."""
        self.open = 0
        self.lock = threading.Lock()
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"world": self}))
        server.daemon_threads = True
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, kind: str, session: str, body: Object) -> tuple[int, JsonValue]:
        """Return status and result of a call, or code and message of an error."""
        if kind in {"create", "task", "retry"}:
            return {"create": self._create, "task": self._task, "retry": self._retry}[kind](session)
        if kind == "tasks":
            return 200, [{"task_id": t, "resource_id": s} for t, s in self.tasks.items() if s == session]
        if session not in self.waiting:
            return 404, ["NOT_FOUND", f"there is no session {session}"]
        messages = self.waiting[session]
        if kind == "add":
            added = body["messages"]
            assert isinstance(added, list)
            assert len(added) <= 100
            messages += added
        if kind == "commit":
            return 200, self._commit(session)
        return 200, {"message_count": len(messages), "commit_count": len(self.archives[session])}

    def _create(self, session: str) -> tuple[int, JsonValue]:
        if session in self.waiting:
            return 409, ["ALREADY_EXISTS", f"session {session} is there"]
        self.waiting[session], self.archives[session] = [], []
        return 200, {"session_id": session}

    def _retry(self, task: str) -> tuple[int, JsonValue]:
        self.retried.append(task)
        return (200, {}) if self.can_retry else (404, ["NOT_FOUND", "no such path"])

    def _commit(self, session: str) -> Object:
        if not self.waiting[session]:
            return {"status": "skipped", "task_id": None, "reason": "no_messages"}
        self.archives[session].append(self.waiting[session])
        self.waiting[session] = []
        task = f"task-{len(self.tasks)}"
        self.tasks[task] = session
        return {"status": "accepted", "task_id": task, "archive_uri": f"viking://{session}/1", "trace_id": ""}

    def _task(self, task: str) -> tuple[int, JsonValue]:
        course = self.courses.get(task, self.course)
        status = course[min(self.seen[task], len(course) - 1)]
        self.seen[task] += 1
        if task not in self.tasks or status == "gone":
            return 404, ["NOT_FOUND", "Task not found or expired"]
        failed = status in {"failed", "cancelled"}
        return 200, {
            "task_id": task,
            "status": status,
            "result": self.result if status == "completed" else None,
            "error": self.error if failed else None,
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: the second would wait for the first one's receipt
    world: SessionServer

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        world = self.world
        with world.lock:
            world.open += 1
            world.most = max(world.most, world.open)
        kind, session = self._what(body)
        with world.lock:
            world.calls[kind] += 1
            faults = world.faults.get(kind)
            fault = faults.pop(0) if faults else None
            if world.key and self.headers.get("Authorization") != f"Bearer {world.key}":
                status, result = 401, ["UNAUTHENTICATED", "a key is wanted"]
            elif fault is None or fault in {"lost", "stale"}:
                status, result = world.answer(kind, session, body)
            else:
                status, result = 200, {}
            world.open -= 1
        self._reply(fault, status, result)

    def _what(self, body: Object) -> tuple[str, str]:
        """Return the kind of call, and the session or task."""
        url = urlsplit(self.path)
        steps = [unquote(step) for step in url.path.split("/")[3:]]
        if steps == ["tasks"]:
            return "tasks", parse_qs(url.query)["resource_id"][0]
        if steps[0] == "tasks":
            return steps[2] if len(steps) == 3 else "task", steps[1]
        if len(steps) == 1:
            return "create", str(body["session_id"])
        kinds = {"batch": "add", "commit": "commit"}
        return kinds.get(steps[-1], "look"), steps[1]

    def _reply(self, fault: Fault | None, status: int, result: JsonValue) -> None:
        if fault in {"reset", "lost"}:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            return
        after = ""
        if isinstance(fault, tuple):
            status, after = fault
            result = ["UNAVAILABLE", "later"]
        value: JsonValue = {"status": "ok", "result": result, "error": None}
        if fault == "stale":
            value = {"status": "ok", "result": {"message_count": 0, "commit_count": 0}}
        elif fault in {"plain", "list", "bare"}:
            value = (
                {"a": 1} if fault == "plain" else {"status": "ok", "result": [] if fault == "list" else {}}
            )
        elif status >= 400:
            assert isinstance(result, list)
            error: Object = {"code": result[0], "message": result[1], "details": None}
            value = {"status": "error", "result": None, "error": error}
        data = b"<html>" if fault == "html" else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if after:
            self.send_header("Retry-After", after)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
