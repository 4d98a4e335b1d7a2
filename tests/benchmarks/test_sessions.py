"""From the commit of a session to a landed lesson: OpenViking and xp serve, the same client, the same model.

    XP_OPENVIKING_PYTHON=… pytest tests/benchmarks/test_sessions.py -m '' -s

20 sessions, 8 at a time, by our SessionCommitPolicyTrainer. The model is a scripted one in this process: it
answers at once or after a second.
"""

from __future__ import annotations

import asyncio
import time
from statistics import quantiles
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.timing import table
from tests.builders import git, make_store
from tests.llm_world import recordings, write
from tests.openviking_world import ROOT, BothModels, openviking_server, xp_serve
from trainer.components.session_commit import SessionCommitPolicyTrainer
from trainer.context import PipelineContext
from trainer.importers import read_rollouts
from trainer.remote.client import JsonClient
from trainer.remote.session_client import HttpSessionClient
from trainer.remote.session_upload import ENDED, Pace
from xpstore.experience import ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.domain import Rollout

COUNT = 20
PARALLEL = 8
DELAYS = (0.0, 1.0)
PACE = Pace(first=0.02, longest=0.1, timeout=600.0)


class Watched(HttpSessionClient):
    """Knows when each session was committed, and when its task was first seen to have ended."""

    def __init__(self, client: JsonClient) -> None:
        super().__init__(client)
        self.began: dict[str, float] = {}
        self.took: dict[str, float] = {}

    async def commit_session(self, session_id: str, *, keep_recent_count: int) -> JsonValue:
        start = time.perf_counter()
        answer = await super().commit_session(session_id, keep_recent_count=keep_recent_count)
        assert isinstance(answer, dict)
        self.began[str(answer["task_id"])] = start
        return answer

    async def get_task(self, task_id: str) -> JsonValue:
        task = await super().get_task(task_id)
        assert isinstance(task, dict)
        if task["status"] in ENDED:
            self.took.setdefault(task_id, time.perf_counter() - self.began[task_id])
        return task


def learn(url: str, rollouts: list[Rollout]) -> tuple[float, list[float]]:
    """Return the seconds for all sessions, and those from each commit to its end, sorted."""

    async def work() -> tuple[float, list[float]]:
        async with JsonClient(url, retries=0) as http:
            client = Watched(http)
            trainer = SessionCommitPolicyTrainer(client, pace=PACE, parallel=PARALLEL)
            start = time.perf_counter()
            result = await trainer.train_rollouts(rollouts, ExperienceSet(root_uri=""), PipelineContext())
            took = time.perf_counter() - start
        assert not result.failures
        assert not result.already
        assert len(client.took) == len(rollouts)
        return took, sorted(client.took.values())

    return asyncio.run(work())


def row(took: float, each: list[float], base: float | None) -> tuple[object, ...]:
    cuts = quantiles(each, n=100, method="inclusive")
    return took, cuts[49], cuts[98], base / took if base else None


@pytest.fixture
def model() -> Iterator[BothModels]:
    model = BothModels()
    yield model
    model.close()


def test_with_a_model(tmp_path: Path, model: BothModels, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = list(recordings(COUNT * len(DELAYS)))
    rollouts = list(read_rollouts([write(tmp_path / "r.jsonl", lines)]).rollouts)
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    theirs: dict[float, tuple[float, list[float]]] = {}
    ours: dict[float, tuple[float, list[float]]] = {}
    with openviking_server(tmp_path / "openviking", model) as url:
        for number, delay in enumerate(DELAYS):
            model.delay = delay
            theirs[delay] = learn(url, rollouts[number * COUNT :][:COUNT])
    for number, delay in enumerate(DELAYS):
        model.delay = 0.0
        store = tmp_path / f"ours-{number}" / "s"
        store.parent.mkdir()
        make_store(store)
        words = ["--branch", "main", "--learner", "llm", "--model", "scripted"]
        with xp_serve(store, *words) as url:
            model.delay = delay
            ours[delay] = learn(url, rollouts[number * COUNT :][:COUNT])
        assert int(git(store, "rev-list", "--count", "main")) > 1
    rows = {}
    for delay in DELAYS:
        base, _ = theirs[delay]
        rows[f"OpenViking, {delay:g} s a call"] = row(*theirs[delay], None)
        rows[f"xp serve, {delay:g} s a call"] = row(*ours[delay], base)
    table(f"{COUNT} sessions, {PARALLEL} at a time", ("seconds", "p50", "p99", "times faster"), rows)


def test_without_a_model(tmp_path: Path) -> None:
    rollouts = list(read_rollouts([ROOT / "sample_repo" / "rollouts" / "returns.jsonl"]).rollouts)
    make_store(tmp_path / "s")
    rows = {}
    with xp_serve(tmp_path / "s", "--branch", "main") as url:
        done = 0
        for start in (0, 40, 160):
            if done < start:
                learn(url, rollouts[done:start])
            done = start + COUNT
            commits = len(git(tmp_path / "s", "log", "--format=%H", "main").split())
            took = learn(url, rollouts[start:done])
            landed = len(git(tmp_path / "s", "log", "--format=%H", "main").split()) - commits
            rows[f"beside {start} on record"] = (*row(*took, None)[:3], landed)
    table(f"{COUNT} sessions without a model", ("seconds", "p50", "p99", "lessons"), rows)
