from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import NoteTaker, rollout
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import TrajectoryAnalyzerContext
from trainer.domain import RubricEvaluation
from trainer.errors import NothingToNoteError, UnscoredError


class Judge:
    async def evaluate(self, rollout):
        return RubricEvaluation(passed=False, score=0.25, feedback=(f"{rollout.case.name} was slow",))


def analyze(one, evaluator=None, **told):
    analyzer = TrajectoryRolloutAnalyzer(NoteTaker(), evaluator)
    return asyncio.run(analyzer.analyze(one, TrajectoryAnalyzerContext(run_id="r", **told)))


def test_the_rollouts_own_evaluation_comes_first():
    analysis = analyze(rollout(passed=True), Judge())
    assert analysis.evaluation.score == 1.0
    assert analysis.metadata == {"evaluation_source": "rollout", "run_id": "r"}


def test_then_the_evaluators_and_the_extractor_sees_it():
    analysis = analyze(rollout(passed=None), Judge())
    assert analysis.evaluation.score == 0.25
    assert analysis.trajectories[0].outcome == "failure"
    assert analysis.metadata["evaluation_source"] == "evaluator"


class Unable:
    async def evaluate(self, rollout):
        return None


@pytest.mark.parametrize("evaluator", [None, Unable()])
def test_without_any_score_a_rollout_with_a_note_has_passed(evaluator):
    analysis = analyze(rollout(passed=None), evaluator)
    assert (analysis.evaluation.passed, analysis.evaluation.score) == (True, 1.0)
    assert analysis.trajectories[0].outcome == "unknown"
    assert analysis.metadata["evaluation_source"] == "fallback"


def test_without_any_score_a_rollout_without_a_note_has_failed_and_says_why():
    analysis = analyze(rollout("empty", passed=None))
    assert (analysis.evaluation.passed, analysis.evaluation.score) == (False, 0.0)
    assert analysis.nothing
    assert analysis.evaluation.feedback


def test_an_extractor_may_say_why_there_is_nothing():
    class Bored:
        async def extract(self, rollout, evaluation):
            raise NothingToNoteError("it went as it always goes")

    analyzer = TrajectoryRolloutAnalyzer(Bored())
    analysis = asyncio.run(analyzer.analyze(rollout(), TrajectoryAnalyzerContext()))
    assert (analysis.trajectories, analysis.nothing) == ((), "it went as it always goes")
    assert analysis.evaluation.passed


@pytest.mark.parametrize("case", ["refund", "empty"])
def test_without_the_fallback_a_rollout_that_nobody_scored_is_an_error(case):
    with pytest.raises(UnscoredError, match="no evaluation"):
        analyze(rollout(case, passed=None), fallback=False)
    assert analyze(rollout(case, passed=None), Judge(), fallback=False).evaluation.score == 0.25
    assert analyze(rollout(case, passed=False), fallback=False).evaluation.score == 0
