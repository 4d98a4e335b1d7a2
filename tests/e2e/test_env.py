"""An environment as a service of its own: the README's guide, real processes, kills in between."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.builders import git, make_store, page
from tests.env_world import POLICY, SNAPSHOT, word_case
from trainer.context import ExecutionContext
from trainer.environments.http import make
from xpstore.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Iterator

README = Path(__file__).resolve().parents[2] / "README.md"
START = "from xpstore.cli.main import main; main()"
SLOW = """
import asyncio
from pathlib import Path

from tests.env_world import Words, said

class Slow(Words):
    async def run(self, request):
        is_first = not Path("begun").exists()
        Path("begun").touch()
        print("begun", request.case.name, flush=True)
        if is_first:
            await asyncio.Event().wait()
        return said(request)
"""
"""The first rollout of all never ends."""


@contextmanager
def served(where: Path, *words: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `xp env serve` in a process of its own; yield it and its address."""
    command = [sys.executable, "-c", START, "env", "serve", *words, "--port", str(port), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=where, text=True, **pipes) as process:
        try:
            first = process.stdout.readline()
            assert first, process.stderr.read()
            yield process, json.loads(first)["url"]
        finally:
            process.kill()


def guide() -> tuple[str, str]:
    """Return the code and the settings of the README's guide."""
    section = README.read_text("utf-8").partition("### Your environment over HTTP")[2].partition("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    settings = section.partition("    [environment] ")[2].partition("\n\nThen ")[0]
    return code, "\n".join(line.removeprefix("    ") for line in f"    [environment] {settings}".splitlines())


def test_the_guide_of_the_readme(tmp_path, capfd, monkeypatch):
    code, settings = guide()
    assert len([line for line in code.splitlines() if line.strip()]) <= 30
    (tmp_path / "greeter.py").write_text(code, "utf-8")
    store = tmp_path / "s"
    make_store(store)
    monkeypatch.chdir(store)
    with served(tmp_path, "greeter:Greeter", "--state", "runs.sqlite") as (_, url):
        assert run(["env", "check", url, "--split", "test"]) == 0
        assert capfd.readouterr().out.count("ok ") == 10
        assert run(["env", "cases", url, "--split", "test"]) == 0
        (store / "cases").mkdir()
        (store / "cases" / "test.jsonl").write_text(capfd.readouterr().out, "utf-8")
        config = (store / "xp.toml").read_text("utf-8")
        (store / "xp.toml").write_text(
            f"{config}\n{settings.replace('http://127.0.0.1:1944', url)}\n", "utf-8"
        )
        git(store, "add", ".")
        git(store, "commit", "-q", "-m", "Greet people")
        assert _accuracy(capfd) == 0.5
        (store / "experiences").mkdir(exist_ok=True)
        (store / "experiences" / "greetings.md").write_text(page("greetings", "Uwe: Guten Tag"), "utf-8")
        git(store, "add", ".")
        git(store, "commit", "-q", "-m", "Say how Uwe is greeted")
        assert _accuracy(capfd) == 1.0


def _accuracy(capfd) -> float:
    assert run(["eval", "--json", "--trials", "1"]) == 0
    return json.loads(capfd.readouterr().out)["accuracy"]


def test_a_service_that_is_killed_and_started_anew_costs_no_rollout(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(README.parent))
    (tmp_path / "slow.py").write_text(SLOW, "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ("slow:Slow", "--state", "runs.sqlite")
    case = word_case(0)

    async def work() -> object:
        with served(tmp_path, *words, port=port) as (process, url):
            executor = make({"url": url}).executor()
            told = ExecutionContext(policy_snapshot_id=SNAPSHOT, seed=1)
            rollout = asyncio.create_task(executor.execute([case], POLICY, told))
            assert await asyncio.to_thread(process.stdout.readline) == "begun train-0\n"
            process.kill()
            process.wait()
        with served(tmp_path, *words, port=port) as (process, _):
            (done,) = await rollout
            assert await asyncio.to_thread(process.stdout.readline) == "begun train-0\n"
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 30) == 0
        return done

    assert asyncio.run(work()).case == case
