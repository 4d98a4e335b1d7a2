from __future__ import annotations

import asyncio

import pytest

from tests.builders import git
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
from xpstore.errors import NotFoundError, RefusedError, UsageError
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


def test_a_branch_is_locked_for_one_and_reloaded(tmp_path):
    location = init(tmp_path / "s")
    inside, most = [], []

    async def update(door: StoreDoor, name: str) -> None:
        policy = BranchPolicy(door, "main")
        async with policy.lock():
            inside.append(name)
            latest = await policy.reload()
            item = PolicyPlanItem(
                kind="upsert_experience",
                target_experience_name=name,
                before_content=None,
                after_content=FIGURES,
            )
            plan = PolicyUpdatePlan(items=(item,), base_commit=latest.snapshot_id)
            await GitPolicyUpdater(door).apply(plan, latest, ApplyContext(branch="main"))
            most.append(len(inside))
            inside.pop()

    async def run() -> list[str]:
        async with StoreDoor(tmp_path / "s") as one, StoreDoor(tmp_path / "s") as two:
            await asyncio.gather(*(update(door, f"p{n}") for n, door in enumerate([one, two, one, two])))
            return [p.name for p in (await BranchPolicy(one, "main").reload()).policies]

    assert asyncio.run(run()) == ["p0", "p1", "p2", "p3"]
    assert most == [1] * 4
    assert git(tmp_path / "s", "rev-list", "--count", f"{location.repo.ref('refs/heads/main')}") == "5"


def test_a_lock_that_another_one_has_is_waited_for_so_long(tmp_path):
    init(tmp_path / "s")

    async def run() -> None:
        async with StoreDoor(tmp_path / "s") as door:
            policy = BranchPolicy(door, "main")
            async with policy.lock():
                with pytest.raises(RefusedError, match=r"the lease of main was not free within 0 s"):
                    async with policy.lock(wait=0):
                        raise AssertionError("two have it")
            async with policy.lock(wait=0):  # and afterwards it is free
                pass

    asyncio.run(run())


def test_a_lock_is_let_go_of_when_the_one_who_has_it_is_cancelled(tmp_path):
    init(tmp_path / "s")

    async def run() -> None:
        async with StoreDoor(tmp_path / "s") as door:
            policy, has_it = BranchPolicy(door, "main"), asyncio.Event()

            async def hold() -> None:
                async with policy.lock():
                    has_it.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(hold())
            await has_it.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            async with policy.lock(wait=0):
                pass

    asyncio.run(run())
