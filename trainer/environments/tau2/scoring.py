"""tau2's reward as an evaluation: the reward decides, its parts are reported, infrastructure stays apart.

What is said of a part names no gold action, no argument and no assertion: an evaluation goes to whoever asks
for a rollout, and the labels of a test are nobody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import CriterionResult
from trainer.environments.tau2.tasks import CHECKS, REWARD, basis_of, criteria_of
from trainer.errors import ComponentError
from trainer.rubric import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.domain import Case, RubricEvaluation

SOURCE = "tau2_executor"
SCORED = frozenset({"agent_stop", "user_stop"})
"""Endings that tau2 scores."""
LOST = {
    "max_steps": "The simulation reached its limit of messages before anybody ended it.",
    "too_many_errors": "Too many tool calls went wrong.",
    "agent_error": "The agent broke the rules of the conversation.",
    "judge_stop": "The agent went round in circles.",
}
"""Endings that are the agent's own: reward 0, and why."""
BROKEN = "environment_error"
"""The ending of a simulation that cannot be replayed or checked: the agent left the world in such a state."""
WHOLE = 1.0 - 1e-6
"""tau2 calls a simulation successful where its reward is 1 within this."""


class InfrastructureError(ComponentError):
    """A rollout that says nothing of the agent: a model, the user or the judge did not do its part."""


def check_ending(reason: str) -> None:
    """Raise InfrastructureError for an ending that is nobody's merit or fault."""
    if reason not in SCORED and reason not in LOST:
        raise InfrastructureError(f"the simulation ended with {reason or 'no reason'!r}, which is no score")


def check_judged(task: Mapping[str, JsonValue], reward: Mapping[str, JsonValue]) -> None:
    """Raise InfrastructureError where an assertion was not judged: tau2 takes silence for a yes."""
    if "NL_ASSERTION" not in basis_of(task):
        return
    wanted, found = criteria_of(task).get("nl_assertions"), reward.get("nl_assertions")
    asked, judged = (len(each) if isinstance(each, list) else 0 for each in (wanted, found))
    if asked != judged:
        raise InfrastructureError(f"the judge judged {judged} of {asked} assertions")


def evaluation_of(
    case: Case, task: Mapping[str, JsonValue], reason: str, reward: Mapping[str, JsonValue]
) -> RubricEvaluation:
    """Return the evaluation of a simulation that ended with `reason`, from tau2's reward information.

    Raises InfrastructureError for a reward that is none.
    """
    value = reward.get("reward")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InfrastructureError(f"tau2 gave the reward {value!r}, which is not from 0 to 1")
    parts = _parts(reward) if reason in SCORED else {}
    why = LOST.get(reason, "tau2 environment reward is below 1.0.")
    results = [_result(REWARD, float(value), why)]
    for part in basis_of(task):
        if part in CHECKS:
            score = parts.get(part, float(value >= WHOLE))
            results.append(_result(CHECKS[part][0], score, _said(part, reward, reason)))
    return evaluate(
        case.rubric,
        results,
        {"source": SOURCE, "reward": float(value), "termination_reason": reason, "parts": {**parts}},
    )


def unreplayable(case: Case, task: Mapping[str, JsonValue], why: str) -> RubricEvaluation:
    """Return the evaluation where tau2 cannot check how the world was left: failed, with the reason."""
    results = [_result(REWARD, 0.0, f"tau2 could not check the end of the simulation: {why}")]
    results += [
        _result(CHECKS[part][0], 0.0, "It could not be checked.") for part in basis_of(task) if part in CHECKS
    ]
    metadata: dict[str, JsonValue] = {"source": SOURCE, "reward": 0.0, "termination_reason": BROKEN}
    return evaluate(case.rubric, results, metadata)


def _result(name: str, score: float, why: str) -> CriterionResult:
    passed = score >= WHOLE
    return CriterionResult(
        criterion_name=name,
        passed=passed,
        score=score,
        feedback=() if passed else (why,),
        metadata={"reward": score},
    )


def _parts(reward: Mapping[str, JsonValue]) -> dict[str, float]:
    found = reward.get("reward_breakdown")
    table = found if isinstance(found, dict) else {}
    return {part: float(value) for part, value in table.items() if isinstance(value, int | float)}


def _said(part: str, reward: Mapping[str, JsonValue], reason: str) -> str:
    """Return what did not hold, in numbers."""
    if reason not in SCORED:
        return "The simulation did not come to an end that is checked."
    if part == "DB":
        return "The database is not as it should be: a change is missing, wrong, or too much."
    key, met = {
        "ENV_ASSERTION": ("env_assertions", "met"),
        "ACTION": ("action_checks", "action_match"),
        "COMMUNICATE": ("communicate_checks", "met"),
        "NL_ASSERTION": ("nl_assertions", "met"),
    }[part]
    checks = reward.get(key)
    rows = [row for row in checks if isinstance(row, dict)] if isinstance(checks, list) else []
    return f"{sum(not row.get(met) for row in rows)} of {len(rows)} checks did not hold."
