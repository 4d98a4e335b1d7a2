"""What every RolloutExecutor and Environment must do; call `check_environment` with cases of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from trainer.context import ExecutionContext
from trainer.domain import Case, Rollout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.environment import Environment
    from trainer.interfaces import RolloutExecutor
    from xpstore.experience import ExperienceSet

SECONDS = 20  # more than any trial here takes, even on a busy machine


def context(number: int, seed: int = 7, *, training: bool = False) -> ExecutionContext:
    return ExecutionContext(policy_snapshot_id=f"{number:040x}", seed=seed, training=training)


def run(executor: RolloutExecutor, case: Case, policy_set: ExperienceSet, told: ExecutionContext) -> Rollout:
    return asyncio.run(_one(executor, case, policy_set, told))


async def _one(
    executor: RolloutExecutor, case: Case, policy_set: ExperienceSet, told: ExecutionContext
) -> Rollout:
    rollouts = await asyncio.wait_for(executor.execute([case], policy_set, told), SECONDS)
    assert len(rollouts) == 1
    return rollouts[0]


def check_executor(
    executor: RolloutExecutor, cases: Sequence[Case], policy_set: ExperienceSet, *, deterministic: bool = True
) -> None:
    """Check the contract on at least two cases."""
    assert len(cases) > 1
    for training in (False, True):
        _one_per_case_pinned_and_scored(executor, cases, policy_set, training=training)
    _several_in_order(executor, cases, policy_set)
    _concurrent_calls_do_not_meet(executor, cases, policy_set, deterministic=deterministic)
    _ends_when_cancelled(executor, cases[0], policy_set)
    if deterministic:
        told = context(1)
        first, second = (run(executor, cases[0], policy_set, told) for _ in range(2))
        assert first == second, "equal seed, case and policy must give an equal rollout"


def check_environment(
    environment: Environment,
    cases: Sequence[Case],
    policy_set: ExperienceSet,
    *,
    deterministic: bool = True,
) -> None:
    """Check that an environment says what it is, and its executor."""
    for said in (environment.name, environment.agent, environment.version, environment.code):
        assert said
        assert said == said.strip()
    assert isinstance(environment.model, str)
    assert isinstance(environment.simulator, str)
    check_executor(environment.executor(), cases, policy_set, deterministic=deterministic)


def _one_per_case_pinned_and_scored(
    executor: RolloutExecutor, cases: Sequence[Case], policy_set: ExperienceSet, *, training: bool
) -> None:
    for number, case in enumerate(cases):
        before = case.model_dump_json()
        trial = context(number, training=training)
        rollout = run(executor, case, policy_set, trial)
        assert rollout.case == case
        assert case.model_dump_json() == before, "a case is not to be changed"
        assert rollout.policy_snapshot_id == trial.policy_snapshot_id
        assert rollout.evaluation is not None
        assert 0 <= rollout.evaluation.score <= 1
        assert {r.criterion_name for r in rollout.evaluation.criterion_results} <= {
            c.name for c in case.rubric.criteria
        }
        assert rollout.messages
        assert Rollout.model_validate_json(rollout.model_dump_json()) == rollout
        told = "".join(m.model_dump_json() for m in rollout.messages if m.role != "assistant")
        assert "expected_actions" not in told, "a label was shown to the agent"


def _several_in_order(executor: RolloutExecutor, cases: Sequence[Case], policy_set: ExperienceSet) -> None:
    rollouts = asyncio.run(executor.execute(list(cases), policy_set, context(3)))
    assert [r.case.name for r in rollouts] == [c.name for c in cases]
    assert asyncio.run(executor.execute([], policy_set, context(3))) == []


def _concurrent_calls_do_not_meet(
    executor: RolloutExecutor, cases: Sequence[Case], policy_set: ExperienceSet, *, deterministic: bool
) -> None:
    async def both() -> list[Rollout]:
        calls = [_one(executor, case, policy_set, context(i)) for i, case in enumerate(cases) for _ in "ab"]
        return list(await asyncio.gather(*calls))

    together = asyncio.run(both())
    for number, case in enumerate(cases):
        pair = together[2 * number : 2 * number + 2]
        assert [r.case.name for r in pair] == [case.name] * 2
        if deterministic:
            assert pair == [run(executor, case, policy_set, context(number))] * 2


def _ends_when_cancelled(executor: RolloutExecutor, case: Case, policy_set: ExperienceSet) -> None:
    async def cancel() -> None:
        task = asyncio.create_task(executor.execute([case], policy_set, context(4)))
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=SECONDS)
        assert done, "a cancelled call must end"

    asyncio.run(cancel())
