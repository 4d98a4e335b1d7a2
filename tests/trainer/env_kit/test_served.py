from __future__ import annotations

import asyncio

import pytest

from tests.env_world import POLICY, SNAPSHOT
from trainer.context import ExecutionContext
from trainer.domain import Rollout
from trainer.env_kit.runtime import CaseQuery, RolloutRequest
from trainer.env_kit.served import ServedEnvironment
from trainer.environments.order_desk import make, suites
from xpstore.errors import UsageError

CASE = suites(7, train=1, gate=0, test=0)["train"][0]


def request(options=None, metadata=None):
    return RolloutRequest(CASE, POLICY, SNAPSHOT, 7, True, options or {}, metadata or {"trial": 2})


def test_its_rollouts_are_those_in_process():
    desk = make({})
    served = ServedEnvironment(desk, lambda _: [CASE])
    context = ExecutionContext(policy_snapshot_id=SNAPSHOT, seed=7, training=True, metadata={"trial": 2})
    (here,) = asyncio.run(desk.executor().execute([CASE], POLICY, context))
    there = asyncio.run(served.run(request()))
    assert there == here
    assert isinstance(there, Rollout)
    assert served.cases(CaseQuery()) == [CASE]
    assert served.version == f"{desk.version} {desk.code}"


def test_one_with_a_model_waits_in_the_loop_of_the_service():
    loops = []

    class Asking:
        name, version, code, agent, model, simulator = "asking", "1", "c", "llm/1", "small", ""

        def executor(self):
            return self

        async def execute(self, cases, policy_set, context):
            loops.append(asyncio.get_running_loop())
            return [Rollout(case=cases[0], policy_snapshot_id=context.policy_snapshot_id)]

    async def work():
        await ServedEnvironment(Asking(), lambda _: [CASE]).run(request())
        return asyncio.get_running_loop()

    assert [asyncio.run(work())] == loops


def test_it_takes_no_options_with_a_rollout():
    served = ServedEnvironment(make({}), lambda _: [CASE])
    with pytest.raises(UsageError, match="no options with a rollout, such as 'turns'"):
        asyncio.run(served.run(request({"turns": 3})))
