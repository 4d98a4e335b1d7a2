"""What a hosting site does with a workflow, as far as ours need it: jobs, steps, files, comments.

Steps with `run:` are run by bash as the site's runner runs them. What the site brings along is replaced by
what is here: a checkout is a clone of a bare repository, Python and the packages are the ones of the tests,
artifacts are folders, and an expression is looked up in a table: one that is not in there is an error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
INSTALL = 'python -m pip install "$XPSTORE"'


@dataclass
class Site:
    """A bare repository with pull requests, and the comments on them."""

    origin: Path
    where: Path
    python_path: Path
    """Where the environment of the tests is installed."""
    api: str
    comments: dict[int, list[dict[str, object]]]
    calls: list[str]

    def run(self, workflow: Path, job: str, table: Mapping[str, str]) -> Job:
        """Run one job on a fresh machine."""
        return Job(self, yaml.safe_load(workflow.read_text()), job, dict(table)).run()


@dataclass
class Job:
    site: Site
    workflow: dict[str, object]
    name: str
    table: dict[str, str]
    results: dict[str, bool] = field(default_factory=dict)
    """Step → whether it went well; those that were left out are missing."""
    log: str = ""

    def run(self) -> Job:
        job = self.workflow["jobs"][self.name]
        self.machine = Path(tempfile.mkdtemp(dir=self.site.where))
        self.temp, self.desk = self.machine / "temp", self.machine / "work"
        self.temp.mkdir(parents=True)
        self.summary.touch()
        outer = {**self.workflow.get("env", {}), **job.get("env", {})}
        for step in job["steps"]:
            condition = str(step.get("if", ""))
            if all(self.results.values()) or "always()" in condition or "!cancelled()" in condition:
                ok = self._step(step, {**outer, **step.get("env", {})})
                self.results[step["name"]] = ok or step.get("continue-on-error", False)
        return self

    @property
    def is_green(self) -> bool:
        return all(self.results.values())

    @property
    def summary(self) -> Path:
        return self.machine / "summary.md"

    def _step(self, step: Mapping[str, object], env: Mapping[str, str]) -> bool:
        if "uses" in step:
            return self._use(str(step["uses"]).partition("@")[0], step.get("with", {}))
        script = str(step["run"])
        if script == INSTALL:
            script = "command -v xp"  # the tests' own Python has it
        folder = self.desk / self.workflow["defaults"]["run"]["working-directory"]
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder,
            env=self._environment({name: self._filled(text) for name, text in env.items()}),
            capture_output=True,
            text=True,
            check=False,
        )
        self.log += f"## {step['name']}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.returncode == 0

    def _environment(self, own: Mapping[str, str]) -> dict[str, str]:
        event = self.machine / "event.json"
        number = int(self.table.get("github.event.pull_request.number", 0))
        event.write_text(json.dumps({"pull_request": {"number": number}} if number else {}))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "XP_", "GITHUB_"))}
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{self.site.python_path}:{ROOT}",
            "HOME": str(self.machine),
            "GIT_CONFIG_NOSYSTEM": "1",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.site.api,
            "GITHUB_SERVER_URL": "https://site.example",
            "GITHUB_REPOSITORY": "pat/desk",
            "GITHUB_RUN_ID": "99",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(self.machine / "output"),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            **own,
        }

    def _use(self, action: str, given: Mapping[str, object]) -> bool:
        if action == "actions/checkout":
            assert given["fetch-depth"] == 0
            command = ["git", "clone", "-q", "-b", str(given["ref"]), str(self.site.origin), str(self.desk)]
            subprocess.run(command, check=True)
        elif action == "actions/upload-artifact":
            shutil.copytree(self._filled(given["path"]), self.site.where / "artifact", dirs_exist_ok=False)
        elif action == "actions/download-artifact":
            shutil.copytree(self.site.where / "artifact", self._filled(given["path"]))
            shutil.rmtree(self.site.where / "artifact")
        else:
            assert action == "actions/setup-python"
        return True

    def _filled(self, text: object) -> str:
        """Return a text of the workflow with its expressions replaced."""
        table = {**self.table, "runner.temp": str(self.temp)}
        return EXPRESSION.sub(lambda found: table[" ".join(found[1].split())], str(text))


@contextmanager
def serving() -> Iterator[tuple[str, dict[int, list[dict[str, object]]], list[str]]]:
    """Yield the address of a site's interface for comments, the comments, and the calls."""
    comments: dict[int, list[dict[str, object]]] = {}
    calls: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            path, _, query = self.path.partition("?")
            calls.append(f"{self.command} {path}")
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else {}
            code, answer = self._done(path.strip("/").split("/"), query, body)
            data = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _done(self, parts: list[str], query: str, body: dict[str, str]) -> tuple[int, object]:
            if "Bearer secret" not in {self.headers.get("Authorization")} | {
                f"Bearer {self.headers.get('PRIVATE-TOKEN')}"
            }:
                return 403, {"message": "no"}
            if parts == ["user"]:
                return 200, {"id": 5}
            if self.command in {"PATCH", "PUT"}:
                comment = next(c for rows in comments.values() for c in rows if str(c["id"]) == parts[-1])
                comment["body"] = body["body"]
                return 200, comment
            rows = comments.setdefault(int(parts[-2]), [])
            if self.command == "POST":
                who = {"type": "Bot", "id": 5}
                rows.append({"id": 100 + len(rows), "user": who, "author": who, "body": body["body"]})
                return 201, rows[-1]
            fields = dict(pair.split("=") for pair in query.split("&"))
            size, page = int(fields["per_page"]), int(fields["page"])
            return 200, rows[size * (page - 1) : size * page]

        do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", comments, calls
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
