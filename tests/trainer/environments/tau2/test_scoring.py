from __future__ import annotations

import pytest

from tests.tau2_tasks import SECRETS, task_set
from trainer.environments.tau2.scoring import (
    InfrastructureError,
    check_ending,
    check_judged,
    evaluation_of,
    unreplayable,
)

TASKS = task_set()
CASE = TASKS.cases("test")[0]
TASK = TASKS.task_of(CASE)
REWARD = {
    "reward": 0.0,
    "reward_breakdown": {"DB": 1.0, "COMMUNICATE": 0.0},
    "communicate_checks": [
        {"info": "say-42-dollars", "met": False, "justification": "say-42-dollars is missing"},
        {"info": "x", "met": True},
    ],
    "action_checks": [{"action": {"arguments": {"id": "GOLD77"}}, "action_match": False}],
}


def test_the_reward_decides_and_its_parts_are_told_in_numbers():
    evaluation = evaluation_of(CASE, TASK, "user_stop", REWARD)
    assert (evaluation.passed, evaluation.score) == (False, 0.0)
    assert [(r.criterion_name, r.passed) for r in evaluation.criterion_results] == [
        ("tau2_reward", False),
        ("database", True),
        ("communicated", False),
    ]
    assert evaluation.feedback == (
        "tau2_reward: tau2 environment reward is below 1.0.",
        "communicated: 1 of 2 checks did not hold.",
    )
    assert evaluation.metadata["reward"] == 0.0
    assert not [secret for secret in SECRETS if secret in evaluation.model_dump_json()]


def test_a_reward_of_1_passes_also_where_actions_were_others():
    evaluation = evaluation_of(CASE, TASK, "agent_stop", {"reward": 1.0, "reward_breakdown": {"DB": 1.0}})
    assert (evaluation.passed, evaluation.score) == (True, 1.0)


@pytest.mark.parametrize("reason", ["max_steps", "too_many_errors", "agent_error"])
def test_an_ending_of_the_agents_own_is_reward_0_with_the_reason(reason: str):
    check_ending(reason)
    evaluation = evaluation_of(CASE, TASK, reason, {"reward": 0.0, "info": {"note": "…"}})
    assert (evaluation.passed, evaluation.score) == (False, 0.0)
    assert evaluation.metadata["termination_reason"] == reason
    assert "below 1.0" not in evaluation.feedback[0]


@pytest.mark.parametrize("reason", ["infrastructure_error", "user_error", "", "something new"])
def test_other_endings_are_no_score(reason: str):
    with pytest.raises(InfrastructureError):
        check_ending(reason)


@pytest.mark.parametrize("value", [None, True, float("nan"), -1, 1.5, "1"])
def test_a_reward_that_is_none(value: object):
    with pytest.raises(InfrastructureError):
        evaluation_of(CASE, TASK, "user_stop", {"reward": value})


def test_a_judge_has_to_judge_every_assertion():
    judged = task_set(reward_basis=["NL_ASSERTION"])
    task = judged.task_of(judged.cases("test")[0])
    check_judged(task, {"nl_assertions": [{"met": True}]})
    for silence in ({}, {"nl_assertions": []}, {"nl_assertions": None}):
        with pytest.raises(InfrastructureError, match="0 of 1"):
            check_judged(task, silence)
    check_judged(TASK, {})


def test_a_world_that_cannot_be_checked_is_a_failure():
    evaluation = unreplayable(CASE, TASK, "ValueError: Task task_2 not found")
    assert (evaluation.passed, evaluation.score) == (False, 0.0)
    assert "task_2" in evaluation.feedback[0]
