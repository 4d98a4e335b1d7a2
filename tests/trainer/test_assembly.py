from __future__ import annotations

import asyncio

import pytest

from tests.builders import git, texts
from tests.trainer.doubles import rollout
from trainer.assembly import learner_of, learning, trainer_of
from trainer.context import ApplyContext, PipelineContext
from trainer.store_door import StoreDoor
from trainer.strategies import ModelChoice
from xpstore.init import init
from xpstore.location import Location
from xpstore.settings import Limits
from xpstore.snapshot import snapshot

TARGET = ApplyContext(run_id="r1", branch="train/r1")


@pytest.mark.parametrize("preview", [None, Limits()])
def test_a_trainer_of_a_branch_and_one_that_writes_nothing(tmp_path, preview):
    loc = init(tmp_path / "s")
    before = git(tmp_path / "s", "for-each-ref")

    async def run():
        async with StoreDoor(tmp_path / "s") as door, learning(door, None) as strategies:
            trainer = trainer_of(door, TARGET, strategies, preview=preview)
            context = PipelineContext(apply_context=TARGET)
            return await trainer.train_rollouts([rollout()], snapshot(loc, "main"), context)

    result = asyncio.run(run())
    assert list(result.nothing) == [rollout().id]
    assert (git(tmp_path / "s", "for-each-ref") == before) == (preview is not None)
    assert texts(Location.find(tmp_path / "s"), "main") == {}


def test_learners_are_told_apart_by_their_names(tmp_path):
    config = init(tmp_path / "s").config
    assert learner_of(config, None).startswith("offline/")
    assert learner_of(config, ModelChoice("org/Small 2:q4")) == "llm/1+org/Small-2-q4"
