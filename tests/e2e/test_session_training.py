"""SessionCommitPolicyTrainer and xp serve: rollouts in one process, their lessons as commits by another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.builders import git, make_store
from tests.openviking_world import ROOT, xp_serve
from trainer import ExperienceSetLoader, HttpSessionClient, PipelineContext, SessionCommitPolicyTrainer
from trainer.components.memory_store import BranchPolicy
from trainer.importers import read_rollouts
from trainer.store_door import StoreDoor

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 32


async def train(url: str, store: Path):
    rollouts = read_rollouts([ROOT / "sample_repo" / "rollouts" / "returns.jsonl"]).rollouts[:COUNT]
    async with StoreDoor(store) as door, HttpSessionClient.at(url) as client:
        before = await ExperienceSetLoader(door).load("main")
        trainer = SessionCommitPolicyTrainer(
            client, policy=BranchPolicy(door, "main"), parallel=COUNT, ground_truth=True
        )
        first = await trainer.train_rollouts(rollouts, before, PipelineContext())
        second = await trainer.train_rollouts(rollouts, before, PipelineContext())
    return before, first, second


def test_a_service_learns_from_rollouts_and_the_policy_is_read_again(tmp_path):
    store = tmp_path / "s"
    make_store(store)
    with xp_serve(store, "--branch", "main") as url:
        before, first, second = asyncio.run(train(url, store))
    assert not first.failures
    log = git(
        store, "log", "--format=%H %(trailers:key=Plan-Id,valueonly,separator=%x20)", "main"
    ).splitlines()
    landed = {commit: plan for commit, _, plan in (line.partition(" ") for line in log) if plan}
    assert landed
    assert set(first.apply_result.commits) == set(landed)
    assert set(first.metadata["plans"]) == set(landed.values())
    assert not before.policies
    assert first.updated_policy_set.policies
    assert first.updated_policy_set.snapshot_id == git(store, "rev-parse", "main")
    sessions = first.metadata["sessions"]
    assert len(sessions) == COUNT
    assert all(s["commits"] or s["nothing"] for s in sessions)
    assert set(second.already) == {s["rollout"] for s in sessions}
    assert git(store, "rev-parse", "main") == second.updated_policy_set.snapshot_id
    assert len(git(store, "log", "--format=%H", "main").split()) == len(log)
