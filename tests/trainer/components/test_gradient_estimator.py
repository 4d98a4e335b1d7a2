from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import CaseEditor, page, rollout
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.context import ExperienceGradientContext
from trainer.domain import EditResult, RolloutAnalysis, RubricEvaluation
from trainer.errors import ComponentError
from xpstore.experience import Experience, ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient

PASSED = RubricEvaluation(passed=True, score=1.0)
ANALYSIS = RolloutAnalysis(rollout=rollout("a"), evaluation=PASSED)


class Proposes:
    learner = "double/1"
    scope = "rollout"

    def __init__(self, before, rollouts):
        self.gradient = PatchSemanticGradient(
            before_file=MemoryFile(name="a", content=before) if before is not None else None,
            after_file=MemoryFile(name="a", content=page("a", "new")),
            rationale="why",
            rollouts=rollouts,
            confidence=0.5,
            base_commit="a lie",
            base_version=99,
        )

    async def edit(self, analyses, experience_set, context):
        return EditResult(gradients=(self.gradient,))


def estimate(editor, policy_set):
    estimator = ExperienceGradientEstimator(editor)
    return asyncio.run(estimator.estimate([ANALYSIS], policy_set, ExperienceGradientContext()))


def test_provenance_is_stamped_outside_of_what_the_strategy_writes():
    current = Experience(name="a", text=page("a", "old"), version=4)
    policy = ExperienceSet(root_uri="", policies=(current,), snapshot_id="c" * 40)
    (gradient,) = estimate(Proposes(current.text, (ANALYSIS.rollout.id,)), policy).gradients
    assert gradient.base_commit == "c" * 40
    assert gradient.base_version == 4


def test_an_edit_that_starts_from_other_text_is_refused():
    current = Experience(name="a", text=page("a", "old"))
    policy = ExperienceSet(root_uri="", policies=(current,))
    with pytest.raises(ComponentError, match="starts from other text"):
        estimate(Proposes(None, ()), policy)


def test_an_edit_that_cites_rollouts_it_never_saw_is_refused():
    with pytest.raises(ComponentError, match="unknown rollouts"):
        estimate(Proposes(None, ("f" * 20,)), ExperienceSet(root_uri=""))


def test_it_tells_who_learns_and_what_it_wants_to_see():
    estimator = ExperienceGradientEstimator(CaseEditor("case"))
    assert (estimator.learner, estimator.scope) == ("double/1", "case")
