"""A number that an environment gave becomes the RFC's rubric and evaluation (RFC §3.3, §3.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import CriterionResult, Rubric, RubricCriterion, RubricEvaluation

if TYPE_CHECKING:
    from pydantic import JsonValue

PASS_MARK = 1.0
"""A rollout passed when its score reaches this."""


def reward_rubric(case_name: str) -> Rubric:
    """Return the rubric with the one required criterion `reward`."""
    criterion = RubricCriterion(name="reward", description=f"The reward is at least {PASS_MARK}.")
    return Rubric(name=f"{case_name}_rubric", description=criterion.description, criteria=(criterion,))


def reward_evaluation(
    score: float,
    source: str,
    *,
    passed: bool | None = None,
    feedback: tuple[str, ...] = (),
    metadata: dict[str, JsonValue] | None = None,
) -> RubricEvaluation:
    """Return the evaluation for a score; `passed` overrules the pass mark where the source knows better."""
    good = score >= PASS_MARK if passed is None else passed
    if not good and not feedback:
        feedback = (f"The reward is below {PASS_MARK}.",)
    result = CriterionResult(
        criterion_name="reward", passed=good, score=score, feedback=feedback, metadata={"reward": score}
    )
    return RubricEvaluation(
        passed=good,
        score=score,
        criterion_results=(result,),
        feedback=feedback,
        metadata={"source": source, "reward": score, **(metadata or {})},
    )
