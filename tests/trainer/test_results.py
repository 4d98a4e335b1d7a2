from __future__ import annotations

from tests.trainer.doubles import rollout
from trainer.domain import RolloutFailure, RolloutTrainingResult, RubricEvaluation
from trainer.results import PipelineEvaluationResult, TrainEpochResult
from trainer.rollouts import failure_of, result_of
from trainer.trials import trials_of
from xpstore.experience import ExperienceSet
from xpstore.plan import PolicyApplyResult

TRIALS = trials_of([rollout(name).case for name in ("a", "b")], 2, 1, training=False)
GOOD = RubricEvaluation(passed=True, score=1.0)
HALF = RubricEvaluation(passed=False, score=0.5)
EMPTY = ExperienceSet(root_uri="")


def test_failures_are_neither_passed_nor_failed():
    result = PipelineEvaluationResult(
        policy_snapshot_id="s",
        results=(result_of(TRIALS[0], GOOD), result_of(TRIALS[2], HALF)),
        failures=(failure_of(TRIALS[1], "execute", "no"),),
    )
    assert (result.cases, result.n, result.passed) == (2, 2, 1)
    assert (result.accuracy, result.average_score) == (0.5, 0.75)


def test_nothing_scored_has_no_accuracy():
    result = PipelineEvaluationResult(policy_snapshot_id="s")
    assert (result.cases, result.n, result.accuracy, result.average_score) == (0, 0, None, None)


def test_an_epoch_is_the_sum_of_its_batches():
    failed = RolloutFailure(rollout="r", case="a", stage="analyze", error="x")
    applied = PolicyApplyResult(updated_policy_set=EMPTY, commits=("c1", "c2"), errors=("moved",))
    batch = TrainEpochResult(
        epoch=0,
        results=(result_of(TRIALS[0], GOOD),),
        failures=(failure_of(TRIALS[1], "execute", "no"),),
        rollouts=3,
        taken_up=1,
        left=2,
        training=(RolloutTrainingResult(apply_result=applied, failures=(failed,)),),
    )
    epoch = TrainEpochResult(epoch=0).plus(batch).plus(batch)
    assert (epoch.n, len(epoch.failures), epoch.taken_up, epoch.left) == (2, 2, 2, 4)
    assert epoch.rollouts == 6
    assert epoch.commits == ("c1", "c2", "c1", "c2")
    assert epoch.errors == 6
