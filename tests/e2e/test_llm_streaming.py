"""Rollouts that come one by one, and a model: learned as they come, once where it was away for a while."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.builders import git, texts
from tests.e2e.llm import MODEL, make_template
from tests.llm_server import Fault
from tests.llm_world import LESSONS, recordings, teach
from trainer.components.streaming_trainer import StreamingPolicyTrainerConfig
from trainer.importers.detect import read_record
from trainer.strategies import ModelChoice
from trainer.streaming import get_streaming_policy_trainer
from xpstore import inbox
from xpstore.location import Location

COUNT = 8
BRANCH = "train/live"
CONFIG = StreamingPolicyTrainerConfig(retry_seconds=0)


@pytest.fixture
def store(tmp_path, llm_server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    return make_template(tmp_path / "s", retries=0)


@pytest.fixture(scope="module")
def rollouts():
    return [read_record(json.loads(line))[1] for line in recordings(COUNT)]


def stream(store, *rollouts, recover=False):
    """Submit all of them at once; return what came of each, or of what was open before."""

    async def main():
        async with get_streaming_policy_trainer(store, choice=ModelChoice(), config=CONFIG) as trainer:
            recovered = await trainer.recover()
            results = await asyncio.gather(*map(trainer.submit_rollout, rollouts))
            return recovered if recover else results

    return asyncio.run(main())


def test_what_comes_together_is_asked_for_once(store, llm_server, rollouts):
    teach(llm_server)
    results = stream(store, *rollouts)
    assert [len(r.plans) for r in results] == [1] * COUNT
    pages = texts(Location.find(store), BRANCH)
    assert {name: text.count(LESSONS[name]) for name, text in pages.items()} == dict.fromkeys(LESSONS, 1)
    assert llm_server.counts["extract"] == llm_server.counts["edit"] == COUNT
    learner = git(store, "log", "-1", "--format=%(trailers:key=Learner,valueonly)", BRANCH).strip()
    assert learner == f"llm/1+{MODEL}"


@pytest.mark.parametrize("stage", ["extract", "edit"])
def test_a_model_that_was_away_is_asked_by_the_next_start(store, llm_server, rollouts, stage):
    teach(llm_server).on(stage, Fault("status", 503))
    results = stream(store, *rollouts)
    assert all(r.failures and not r.plans for r in results)
    loc = Location.find(store)
    progress = "received" if stage == "extract" else "analysed"
    assert [entry.progress for entry in inbox.entries(loc)] == [progress] * COUNT
    teach(llm_server)
    asked = llm_server.counts["extract"]
    recovered = stream(store, recover=True)
    assert [len(r.plans) for r in recovered] == [1] * COUNT
    assert inbox.entries(loc) == []
    assert llm_server.counts["extract"] - asked == (COUNT if stage == "extract" else 0)
    pages = texts(loc, BRANCH)
    assert {name: text.count(LESSONS[name]) for name, text in pages.items()} == dict.fromkeys(LESSONS, 1)
    assert stream(store, recover=True) == []
