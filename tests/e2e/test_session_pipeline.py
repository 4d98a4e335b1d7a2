"""RFC §15: a runner that evaluates and trains, and a service that learns from the sessions it commits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from tests.openviking_world import xp_serve
from trainer import (
    CommitSnapshotter,
    ExperienceSetLoader,
    HttpSessionClient,
    ListCaseLoader,
    OfflinePolicyOptimizationPipeline,
    PipelineContext,
    SessionCommitPolicyTrainer,
)
from trainer.components.memory_store import BranchPolicy
from trainer.environment import world_of
from trainer.environments.order_desk import suites
from trainer.remote.session_upload import Pace
from trainer.store_door import StoreDoor
from xpstore.settings import EnvironmentSettings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.stress
SEED = 1


async def run(url: str, store: Path):
    """Return the scores before and after, and what training did."""
    cases = suites(SEED)
    settings = EnvironmentSettings(name="order-desk", options={"seed": SEED})
    async with StoreDoor(store) as door, HttpSessionClient.at(url) as client:
        policy = await ExperienceSetLoader(door).load("main")
        pipeline = OfflinePolicyOptimizationPipeline(
            snapshotter=CommitSnapshotter(),
            rollout_executor=world_of(settings).environment.executor(),
            policy_trainer=SessionCommitPolicyTrainer(
                client, policy=BranchPolicy(door, "main"), parallel=80, pace=Pace(timeout=300.0)
            ),
        )
        context = PipelineContext(max_epochs=1, trials=4)
        test = ListCaseLoader(cases["test"][:6])
        before = await pipeline.eval(test, policy, context)
        trained = await pipeline.train(ListCaseLoader(cases["train"][:20]), policy, context)
        after = await pipeline.eval(test, trained.policy_set, context)
    return before, trained, after


def test_what_sessions_taught_makes_the_agent_better(tmp_path):
    store = tmp_path / "s"
    make_store(store)
    with xp_serve(store, "--branch", "main") as url:
        before, trained, after = asyncio.run(run(url, store))
    (epoch,) = trained.epochs
    assert epoch.errors == 0
    assert epoch.changed
    assert (before.n, after.n) == (24, 24)
    assert after.passed > before.passed
    assert set(epoch.commits) <= set(git(store, "log", "--format=%H", "main").split())
    assert trained.policy_set.snapshot_id == git(store, "rev-parse", "main")
