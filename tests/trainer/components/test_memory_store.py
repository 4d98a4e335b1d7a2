from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import page
from trainer.components.memory_store import (
    BranchPolicy,
    DirectoryPolicy,
    ExperienceSetLoader,
    MemoryPolicy,
    load_directory,
)
from trainer.components.policy_updater import GitPolicyUpdater
from trainer.context import ApplyContext
from trainer.store_door import StoreDoor
from xpstore.errors import NotFoundError, UsageError
from xpstore.init import init
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan

FIGURES = page("a", "learned\n  *Support: 3 rollouts in 2 cases.*\n- written by a person")


def test_a_directory_is_a_policy(tmp_path):
    (tmp_path / "b.md").write_text(page("b", "two"))
    (tmp_path / "a.md").write_text(page("a", "one"))
    (tmp_path / "notes.txt").write_text("no experience")
    policy = load_directory(tmp_path)
    assert [p.name for p in policy.policies] == ["a", "b"]
    assert load_directory(tmp_path / "missing").policies == ()


def test_a_file_that_is_no_text_is_an_error_with_a_hint(tmp_path):
    (tmp_path / "a.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"a\.md") as caught:
        load_directory(tmp_path)
    assert caught.value.hint


def test_in_a_directory_statements_with_figures_are_a_learners(tmp_path):
    (tmp_path / "a.md").write_text(FIGURES)
    learned = asyncio.run(DirectoryPolicy(tmp_path).learned("double/1"))
    assert learned.learner_statements == {"a": frozenset({"learned"})}


def test_a_branch_is_a_policy_with_a_history(tmp_path):
    init(tmp_path / "s")
    item = PolicyPlanItem(
        kind="upsert_experience", target_experience_name="a", before_content=None, after_content=FIGURES
    )
    plan = PolicyUpdatePlan(items=(item,), learner="double/1")

    async def run():
        async with StoreDoor(tmp_path / "s") as door:
            policy = BranchPolicy(door, "train/x")
            before = await policy.reload()
            await GitPolicyUpdater(door).apply(plan, before, ApplyContext(branch="train/x"))
            loaded = await ExperienceSetLoader(door).load("train/x")
            with pytest.raises(NotFoundError):
                await ExperienceSetLoader(door).load("no-such-branch")
            return before, await policy.reload(), loaded, await policy.learned("double/2")

    before, after, loaded, learned = asyncio.run(run())
    assert before.policies == ()
    assert before.snapshot_id
    assert after == loaded
    assert after.get("a").version == 1
    assert learned.learner_statements == {"a": frozenset({"learned", "written by a person"})}
    assert learned.undone == ()


def test_a_set_in_memory_is_a_policy_as_a_directory_is(tmp_path):
    (tmp_path / "a.md").write_text(FIGURES)
    policy_set = load_directory(tmp_path)
    policy = MemoryPolicy(policy_set)
    assert asyncio.run(policy.reload()) is policy_set
    assert asyncio.run(policy.learned("x")) == asyncio.run(DirectoryPolicy(tmp_path).learned("x"))
