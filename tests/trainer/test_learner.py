from __future__ import annotations

import pytest

from tests.trainer.doubles import CaseEditor, NoteTaker
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_trainer import BatchPolicyTrainer
from trainer.components.policy_updater import DryRunPolicyUpdater
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import PipelineContext
from trainer.journal import NoJournal
from trainer.learner import learner_of
from trainer.offline.merger import StatementMerger
from xpstore.experience import ExperienceSet

SET = ExperienceSet(root_uri="")
PARTS = {
    "analyzer": TrajectoryRolloutAnalyzer(NoteTaker()),
    "estimator": ExperienceGradientEstimator(CaseEditor()),
    "optimizer": PatchMergePolicyOptimizer(StatementMerger()),
    "updater": DryRunPolicyUpdater(),
}
NONE = {**dict.fromkeys(PARTS), "policy_trainer": None, "journal": None, "progress": None}


def test_four_parts_become_a_trainer_with_the_updaters_journal():
    learner = learner_of(**{**NONE, **PARTS})
    assert isinstance(learner.trainer(SET, PipelineContext()), BatchPolicyTrainer)
    assert isinstance(learner.journal(PipelineContext()), NoJournal)


def test_a_ready_trainer_is_taken_as_it_is():
    ready = learner_of(**{**NONE, **PARTS}).trainer(SET, PipelineContext())
    journal = NoJournal()
    learner = learner_of(**{**NONE, "policy_trainer": ready, "journal": journal})
    assert learner.trainer(SET, PipelineContext()) is ready
    assert learner.journal(PipelineContext()) is journal
    assert isinstance(learner_of(**{**NONE, "policy_trainer": ready}).journal(PipelineContext()), NoJournal)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {**PARTS, "updater": None},
        {**PARTS, "policy_trainer": object()},
        {**PARTS, "journal": NoJournal()},
        {"policy_trainer": object(), "analyzer": PARTS["analyzer"]},
    ],
)
def test_anything_between_is_a_mistake(given):
    with pytest.raises(TypeError, match="all four parts"):
        learner_of(**{**NONE, **given})
