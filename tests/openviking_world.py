"""A real OpenViking beside us: where it is, its server as a process, and the model that it asks.

OpenViking is in an environment of its own, `.venv-openviking` or the Python that XP_OPENVIKING_PYTHON names;
`make openviking-parts` makes it. Nothing of it is imported here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.llm_server import LlmServer
from tests.llm_world import teach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.llm_server import Seen

ROOT = Path(__file__).resolve().parents[1]
GIVEN = os.environ.get("XP_OPENVIKING_PYTHON", "")
MADE = ROOT / ".venv-openviking" / "bin" / "python"
DIMENSIONS = 64
EXPERIENCE = "look_before_you_act"
PAGE = """## Situation
- Somebody asks for a change to an order.

## Approach
- Look at the order first.

## Reflect
- Do not act on an order that was not looked at."""


def openviking_python() -> str:
    """Return the Python that has OpenViking; skip what asks for it where there is none."""
    if not GIVEN and not MADE.exists():
        pytest.skip("OpenViking is not here: `make openviking-parts` makes an environment with it")
    return GIVEN or str(MADE)


class BothModels(LlmServer):
    """A scripted model that OpenViking's server can ask, and our learner too (tests/llm_world.py)."""

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__(delay=delay, vectors=_vector)
        teach(self)
        self.on("openviking: trajectories", {"trajectories": [_TRAJECTORY]})
        self.on("openviking: experiences", {"experiences": [_EXPERIENCE], "delete_ids": []})
        self.on("openviking: other", "There is nothing else to be said.")

    def answer(self, seen: Seen) -> object:
        if "trajectory_name" in seen.system:
            seen = replace(seen, stage="openviking: trajectories")
        elif "experience_name" in seen.system:
            seen = replace(seen, stage="openviking: experiences")
        elif seen.stage not in self._handlers:
            seen = replace(seen, stage="openviking: other")
        return super().answer(seen)


_TRAJECTORY = {
    "page_id": 100,
    "trajectory_name": "acted_without_a_look",
    "outcome": "failure",
    "related_case_ids": [],
    "task_query": "Change my order.",
    "retrieval_anchor": "change of an order",
    "content": "# acted_without_a_look\n- The order was changed, and nobody had looked at it.",
}
_EXPERIENCE = {"page_id": 100, "experience_name": EXPERIENCE, "content": PAGE}


def _vector(text: str) -> list[float]:
    """Return the words of a text as numbers: equal texts are equal."""
    values = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.sha256(word.encode()).digest()
        values[digest[0] % DIMENSIONS] += 1.0 if digest[1] % 2 else -1.0
    length = sum(v * v for v in values) ** 0.5 or 1.0
    return [v / length for v in values]


@contextmanager
def openviking_server(folder: Path, model: LlmServer) -> Iterator[str]:
    """Run OpenViking's server on an empty workspace; the address of it."""
    python = Path(openviking_python())
    (folder / "home").mkdir(parents=True)
    port = _free_port()
    asked = {"provider": "openai", "model": "scripted", "api_key": "none", "api_base": model.url}
    configuration = {
        "storage": {"workspace": str(folder / "workspace")},
        "embedding": {"dense": {**asked, "dimension": DIMENSIONS}},
        "vlm": asked,
        "memory": {"extraction_output_format": "json"},
        "server": {"host": "127.0.0.1", "port": port, "agent_evolution": {"enabled": True}},
    }
    (folder / "ov.conf").write_text(json.dumps(configuration), "utf-8")
    program = [str(python.parent / "openviking-server"), "--config", str(folder / "ov.conf")]
    environment = {**os.environ, "HOME": str(folder / "home")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(program, cwd=folder, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        while not _is_well(url):
            assert process.poll() is None, (folder / "log").read_text("utf-8", "replace")[-4000:]
            time.sleep(0.2)  # another program's start: there is nothing to be told by
        yield url
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def xp_serve(store: Path, *words: str) -> Iterator[str]:
    """Run `xp serve` on a store; the address of it."""
    main = "from xpstore.cli.main import main; main()"
    program = [sys.executable, "-c", main, "-C", str(store), "serve", "--port", "0", "--json"]
    with (store.parent / "serve.log").open("wb") as log:
        process = subprocess.Popen([*program, *words], stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout
    try:
        line = process.stdout.readline()
        assert line, (store.parent / "serve.log").read_text("utf-8", "replace")[-4000:]
        yield json.loads(line)["url"]
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def _is_well(url: str) -> bool:
    try:
        with urlopen(f"{url}/health", timeout=5) as answer:  # noqa: S310  # our own address
            return bool(json.load(answer)["healthy"])
    except (URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
