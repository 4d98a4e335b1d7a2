"""A learner whose model takes a second for an answer: 32 recordings, 16 questions at the same time."""

from __future__ import annotations

import io
import time
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from tests.benchmarks.timing import table
from tests.builders import make_store
from tests.llm_world import recordings, teach, write
from xpstore.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.llm_server import LlmServer

COUNT = 32
PARALLEL = 16
SECOND = 1.0


def test_training(tmp_path: Path, llm_server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    make_store(tmp_path / "s")
    file = str(write(tmp_path / "rollouts.jsonl", recordings(COUNT)))
    teach(llm_server)
    rows = {}
    for title, delay in (("first, all modules loaded by it", 0.0), ("a second for an answer", SECOND)):
        llm_server.delay = delay
        before = len(llm_server.requests)
        start = time.perf_counter()
        words = ["train", file, "--learner", "llm", "--model", title.partition(" ")[0], "--json"]
        with redirect_stdout(io.StringIO()):
            assert run(["-C", str(tmp_path / "s"), *words]) == 0
        calls = len(llm_server.requests) - before
        assert calls <= 2 * COUNT + 2 * -(-COUNT // PARALLEL)
        rows[title] = (time.perf_counter() - start, calls, llm_server.most_at_once)
    table(f"{COUNT} recordings with a model", ("seconds", "calls", "at once"), rows)
